package delivery

import (
	"errors"
	"path/filepath"
	"time"

	"contactbase/internal/lockfile"
)

// lockName is the file in the data directory that the sending engine locks. The file stays; only the lock counts.
const lockName = ".contactbase-engine.lock"

// lockInterval is how often an engine that does not send tries to get the lock.
const lockInterval = time.Second

// lock waits until this engine is the one that sends, and returns what releases the lock; nil if Stop was called first.
func (e *Engine) lock() (release func()) {
	ticker := time.NewTicker(lockInterval)
	defer ticker.Stop()
	for waited := false; ; waited = true {
		release, err := lockfile.Own(filepath.Join(e.app.DataDir(), lockName))
		switch {
		case err == nil:
			return release
		case errors.Is(err, lockfile.ErrHeld):
			if err = nil; !waited {
				e.app.Logger().Warn("another process serves this data directory and sends its deliveries; " +
					"this one takes over when that ends")
			}
		default:
			e.app.Logger().Error("the delivery engine cannot lock the data directory, and sends nothing", "error", err)
		}
		e.beat(err)
		select {
		case <-e.stop:
			return nil
		case <-ticker.C:
		}
	}
}

// IsSending reports whether an engine, in any process, sends for the data directory.
func IsSending(dataDir string) bool {
	release, err := lockfile.Own(filepath.Join(dataDir, lockName))
	if err == nil {
		release()
	}
	return errors.Is(err, lockfile.ErrHeld)
}
