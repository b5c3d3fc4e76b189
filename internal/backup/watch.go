package backup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// ErrReplaced means that the database that is open is not the one in the folder any more: what is written to it is lost
// with the process.
var ErrReplaced = errors.New("was removed or replaced while it was open")

// watchInterval is how often the database in the folder is looked at.
const watchInterval = 2 * time.Second

// Watch looks until ctx ends whether the database in the data folder is still the one that it was at the call, and
// returns ErrReplaced where it is not. A restore by PocketBase, which moves it while the folder is marked and restarts
// the process in the end, is none of that; ctx must end before that restart.
func Watch(ctx context.Context, dataDir string) error {
	path := filepath.Join(dataDir, dataFile)
	opened, err := os.Stat(path)
	if err != nil {
		return unusable(dataDir, err)
	}
	ticks := time.NewTicker(watchInterval)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticks.C:
		}
		if replaced(path, opened) && !restoring(dataDir) && ctx.Err() == nil && replaced(path, opened) {
			return fmt.Errorf("%s %w: the program ends so as not to lose more; see that nothing touches the folder while it runs", path, ErrReplaced)
		}
	}
}

// replaced tells whether the file at the path is another one, or none. Where the system does not tell it is taken to be
// there: a failing disk shows elsewhere.
func replaced(path string, opened fs.FileInfo) bool {
	found, err := os.Stat(path)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	return !os.SameFile(found, opened)
}

// restoring is asked between two looks: a restore that fails has moved the database back before it takes the mark away.
func restoring(dataDir string) bool {
	_, err := os.Stat(filepath.Join(dataDir, markerName))
	return err == nil
}
