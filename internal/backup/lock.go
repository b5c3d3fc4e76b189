package backup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"contactbase/internal/lockfile"
)

// Lock locks the data directory, shared with all others that have it open, until release. It returns ErrRestoring
// while a backup is being restored into the directory, and ErrInterrupted after a restore that was interrupted. The
// lock ends with the process, and when release is garbage collected: keep it.
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

// checkMarker returns ErrInterrupted if a restore was interrupted.
func checkMarker(path string) error {
	kept, err := os.ReadFile(path)
	if err != nil {
		return ignoreMissing(err)
	}
	folders := strings.ReplaceAll(strings.TrimSpace(string(kept)), "\n", ", ")
	return fmt.Errorf("%w: restore again; the previous content is in %s", ErrInterrupted, folders)
}

// lockExclusively keeps everyone else out of the data directory, until release. It returns ErrServed if
// someone has it open.
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
	return fmt.Errorf("the data directory %s cannot be used: %w", dataDir, err)
}
