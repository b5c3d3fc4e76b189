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

// lock waits until this engine is the one that sends. It returns false where ctx ended first.
func (e *Engine) lock(ctx context.Context) bool {
	ticker := time.NewTicker(lockInterval)
	defer ticker.Stop()
	for {
		e.pulse.beat()
		release, err := lockfile.Own(filepath.Join(e.app.DataDir(), lockName))
		if err == nil {
			e.release = release
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

// takeOver makes good what the last process has left: claims that it stored, and what its clock has planned. Both take long to find
// where much is pending, so that what is due goes out meanwhile.
func (e *Engine) takeOver(ctx context.Context) {
	if e.release != nil {
		if err := e.store.ReleaseAll(ctx); err != nil && ctx.Err() == nil {
			e.app.Logger().Warn("claims of a process that ended stay until they run out", "error", err)
		}
	}
	for ctx.Err() == nil {
		err := e.store.SetBack(ctx, e.options.Now(), e.held())
		if err == nil {
			break
		}
		e.app.Logger().Error("planning anew what a clock ahead has planned", "error", err)
		select {
		case <-ctx.Done():
		case <-time.After(errorPause):
		}
	}
	e.Wake()
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
