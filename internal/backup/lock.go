package backup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"contactbase/internal/lockfile"
)

// Lock has the caller share the data folder with others that have it open, until release. It returns ErrRestoring
// while a backup is being restored into the folder, and ErrInterrupted after that was cut short. The lock ends with
// the process, and when release is forgotten: keep it.
func Lock(dataDir string) (release func(), err error) {
	if err := os.MkdirAll(dataDir, 0o700); err != nil {
		return nil, unusable(dataDir, err)
	}
	release, err = lockfile.Share(filepath.Join(dataDir, lockName))
	if errors.Is(err, lockfile.ErrHeld) {
		return nil, ErrRestoring
	}
	if err != nil {
		return nil, unusable(dataDir, err)
	}
	if err := checkMarker(filepath.Join(dataDir, markerName)); err != nil {
		release()
		return nil, err
	}
	return release, nil
}

// checkMarker returns an error where a restore was cut short.
func checkMarker(path string) error {
	kept, err := os.ReadFile(path)
	if err != nil {
		return ignoreMissing(err)
	}
	folders := strings.ReplaceAll(strings.TrimSpace(string(kept)), "\n", ", ")
	return fmt.Errorf("%w: restore again; the previous content is in %s", ErrInterrupted, folders)
}

// lockExclusively has the caller keep everybody else out of the data folder, until release.
func lockExclusively(dataDir string) (release func(), err error) {
	release, err = lockfile.Own(filepath.Join(dataDir, lockName))
	if errors.Is(err, lockfile.ErrHeld) {
		return nil, ErrServed
	}
	if err != nil {
		return nil, unusable(dataDir, err)
	}
	return release, nil
}

func unusable(dataDir string, err error) error {
	return fmt.Errorf("the data folder %s cannot be used: %w", dataDir, err)
}
