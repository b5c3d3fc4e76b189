package upgrade

import (
	"context"
	"net/http"

	"github.com/pocketbase/pocketbase/core"
)

// Running tells whether a server brings its folder up to date: then it may read and must not write.
func (u *Upgrade) Running() bool { return u.running.Load() }

// Deferred returns the app for PocketBase's command that serves. What that would apply to an older folder before it listens is
// left to Serve.
func (u *Upgrade) Deferred() core.App { return deferred{u.app, u} }

type deferred struct {
	core.App
	upgrade *Upgrade
}

// RunAllMigrations implements core.App.
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

// Serve calls ready once the folder is up to date: at once, or behind the server that is about to listen. Where that fails the
// server ends, and Err tells why.
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
			_ = server.Close() // whoever asks again finds out
		default:
			u.running.Store(false)
			ready()
		}
	}()
}

// Err tells why the folder could not be brought up to date while the server ran.
func (u *Upgrade) Err() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.failure
}

// end has nothing more be started.
func (u *Upgrade) end() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.ended = true
	if u.cancel != nil {
		u.cancel()
	}
}
