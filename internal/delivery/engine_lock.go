package delivery

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"contactbase/internal/lockfile"
)

// lockName is the file in the data folder whose lock says who sends. It stays there; only the lock on it counts.
const lockName = ".contactbase-engine.lock"

// lockInterval is how often a process that does not send looks whether the one that does is gone.
const lockInterval = time.Second

// lock waits until this engine is the one that sends, and then ends whatever claims the last one left. It returns false
// where ctx ended first.
func (e *Engine) lock(ctx context.Context) bool {
	ticker := time.NewTicker(lockInterval)
	defer ticker.Stop()
	for {
		e.pulse.beat()
		release, err := lockfile.Own(filepath.Join(e.app.DataDir(), lockName))
		if err == nil {
			e.release = release
			if err := e.store.ReleaseAll(ctx); err != nil {
				e.app.Logger().Warn("claims of a process that ended stay until they run out", "error", err)
			}
			return true
		}
		if !errors.Is(err, lockfile.ErrHeld) {
			e.app.Logger().Warn("the delivery engine cannot lock the data folder; stored claims keep other processes from sending the same", "error", err)
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-ticker.C:
		}
	}
}

// IsSending tells whether an engine sends for the data folder, in whichever process.
func IsSending(dataDir string) bool {
	release, err := lockfile.Own(filepath.Join(dataDir, lockName))
	if err == nil {
		release()
	}
	return errors.Is(err, lockfile.ErrHeld)
}

func (e *Engine) unlock() {
	if e.release != nil {
		e.release()
		e.release = nil
	}
}
