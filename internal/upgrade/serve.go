package upgrade

import (
	"context"
	"net/http"

	"github.com/pocketbase/pocketbase/core"
)

// Running reports whether a server is upgrading its data directory. Meanwhile it may read, but not write.
func (u *Upgrade) Running() bool { return u.running.Load() }

// Deferred returns the app for PocketBase's serve command. It leaves the migrations of an older directory, which that
// command would apply before it listens, to Serve.
func (u *Upgrade) Deferred() core.App { return deferred{u.app, u} }

type deferred struct {
	core.App
	upgrade *Upgrade
}

func (d deferred) RunAllMigrations() error {
	todo, err := d.upgrade.prepare()
	if err != nil {
		return err
	}
	if len(todo) == 0 {
		return d.upgrade.Run(context.Background())
	}
	d.upgrade.running.Store(true)
	return nil
}

// Serve calls ready once the data directory is up to date: immediately, or in the background while the server
// listens. If the upgrade fails, it closes the server, and Err returns the reason.
func (u *Upgrade) Serve(server *http.Server, ready func()) {
	if !u.Running() {
		ready()
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	u.mu.Lock()
	defer u.mu.Unlock()
	u.cancel = cancel
	go func() {
		defer cancel()
		err := u.Run(ctx)
		u.mu.Lock()
		defer u.mu.Unlock()
		switch {
		case u.ended:
		case err != nil:
			u.failure = err
			_ = server.Close() // Err returns the reason
		default:
			u.running.Store(false)
			ready()
		}
	}()
}

// Err returns why the upgrade failed while the server ran, or nil.
func (u *Upgrade) Err() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.failure
}

// end cancels the upgrade.
func (u *Upgrade) end() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.ended = true
	if u.cancel != nil {
		u.cancel()
	}
}
