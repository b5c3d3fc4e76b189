package backup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"contactbase/internal/loop"
)

// ErrReplaced means that the open database is no longer the one in the data directory: what is written to it is lost
// when the process ends.
var ErrReplaced = errors.New("was removed or replaced while it was open")

// watchInterval is the pause between two checks.
const watchInterval = 2 * time.Second

// Watch checks until ctx ends whether the data directory still has the database that it had at the call, and returns
// ErrReplaced if not. A restore by PocketBase does not count: it moves the database while the marker exists, and then
// restarts the process. The context must end before that restart.
func Watch(ctx context.Context, dataDir string) error {
	path := filepath.Join(dataDir, dataFile)
	opened, err := os.Stat(path)
	if err != nil {
		return unusable(dataDir, err)
	}
	for loop.Pause(ctx, watchInterval) {
		if replaced(path, opened) && !restoring(dataDir) && ctx.Err() == nil && replaced(path, opened) {
			return fmt.Errorf("%s %w: the program exits to avoid further loss; "+
				"make sure that nothing else changes the directory while it runs", path, ErrReplaced)
		}
	}
	return nil
}

// replaced reports whether the file at the path is another one, or missing. If the system returns another error, the
// file counts as present: a failing disk shows elsewhere.
func replaced(path string, opened fs.FileInfo) bool {
	found, err := os.Stat(path)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	return !os.SameFile(found, opened)
}

// restoring reports whether the marker exists. Watch checks the file before and after it, because a failed restore
// moves the database back before it removes the marker.
func restoring(dataDir string) bool {
	_, err := os.Stat(filepath.Join(dataDir, markerName))
	return err == nil
}
