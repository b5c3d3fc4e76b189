package delivery

import (
	"context"
	"os"
	"path/filepath"
	"time"
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
		held, err := e.tryLock()
		if err != nil {
			e.app.Logger().Warn("the delivery engine cannot lock the data folder; claims alone keep other processes from sending the same", "error", err)
			return true
		}
		if held {
			if err := e.queue.ReleaseAll(ctx); err != nil {
				e.app.Logger().Warn("claims of a process that ended stay until they run out", "error", err)
			}
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-ticker.C:
		}
	}
}

func (e *Engine) tryLock() (bool, error) {
	file, err := os.OpenFile(filepath.Join(e.app.DataDir(), lockName), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return false, err
	}
	held, err := tryLock(file)
	if !held {
		_ = file.Close()
		return false, err
	}
	e.lockFile = file
	return true, nil
}

func (e *Engine) unlock() {
	if e.lockFile != nil {
		_ = e.lockFile.Close()
		e.lockFile = nil
	}
}
