package app

import (
	"context"
	"errors"
	"time"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/audit"
	"contactbase/internal/move"
	"contactbase/internal/order"
	"contactbase/internal/retention"
)

// stopTimeout is how long running requests and deliveries in flight have to finish, together, when the program stops.
// Container runtimes kill a program after 10 seconds.
const stopTimeout = 8 * time.Second

// Start starts the background work. After Stop it does nothing: a signal may end the program before its
// workers have started.
func (a *App) Start() {
	a.lifecycle.Lock()
	defer a.lifecycle.Unlock()
	if a.stopped {
		return
	}
	a.broker.Start(a.Logger())
	a.engine.Start()
	a.indexer.Start()
	a.sweeper.Start()
	a.Counter.Start()
	a.imports.Start()
	a.notices.Start()
}

// Stop stops the background work. It returns an error if deliveries in flight did not finish before ctx ended.
func (a *App) Stop(ctx context.Context) error {
	a.lifecycle.Lock()
	a.stopped = true
	a.lifecycle.Unlock()
	err := a.engine.Stop(ctx)
	a.broker.Close()
	a.indexer.Stop()
	a.sweeper.Stop()
	a.Counter.Stop()
	a.imports.Stop()
	a.notices.Stop()
	return err
}

// BindWorkers starts the background work when the program serves and its data directory is up to date. The work stops
// after the HTTP server, which still wakes it, and before the database is closed.
func (a *App) BindWorkers() {
	a.OnServe().BindFunc(func(e *core.ServeEvent) error {
		if err := e.Next(); err != nil {
			return err
		}
		a.Upgrade.Serve(e.Server, a.Start)
		return nil
	})
	var deadline time.Time
	// waiting for requests counts
	order.OnStop(a, "contactbaseDeadline", order.WaitsEnd, func() { deadline = time.Now().Add(stopTimeout) })
	order.OnStop(a, "contactbaseWorkers", order.WorkersEnd, func() {
		ctx, cancel := context.WithDeadline(context.Background(), deadline)
		defer cancel()
		if err := a.Stop(ctx); err != nil {
			a.Logger().Warn("stopping the deliveries", "error", err)
		}
	})
}

// bindMoves removes files left by killed exports and imports of tenants when the data directory is opened.
func bindMoves(app core.App) {
	app.OnBootstrap().BindFunc(func(e *core.BootstrapEvent) error {
		if err := e.Next(); err != nil {
			return err
		}
		if err := move.Sweep(e.App.DataDir()); err != nil {
			e.App.Logger().Warn("removing files of interrupted tenant moves", "error", err)
		}
		return nil
	})
}

// bindRetention deletes expired data every hour.
func (a *App) bindRetention(kept, auditKept time.Duration) {
	ctx, cancel := context.WithCancel(context.Background())
	order.OnStop(a, "contactbaseRetention", order.WorkersEnd, cancel)
	a.Cron().MustAdd("contactbaseRetention", "23 * * * *", func() {
		if a.Upgrade.Running() {
			return
		}
		now := time.Now()
		err := errors.Join(retention.Prune(ctx, a.App, a.Deliveries, now.Add(-kept)),
			audit.Prune(ctx, a.App, now.Add(-auditKept)))
		if err != nil && ctx.Err() == nil {
			a.Logger().Error("deleting expired data", "error", err)
		}
	})
}
