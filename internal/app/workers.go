package app

import (
	"context"
	"time"

	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/hook"

	"contactbase/internal/move"
	"contactbase/internal/retention"
)

// stopPatience is how long requests and deliveries in flight may take, together, when the program ends.
const stopPatience = 10 * time.Second

// Start begins the work in the background. After Stop it does nothing: a signal may end the program before its workers have started.
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
}

// Stop ends the work in the background. The error tells that deliveries in flight did not end before ctx did.
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
	return err
}

// BindWorkers starts the work in the background when the program serves and its data directory is up to date. It ends after
// the HTTP server, which still wakes it, and before the database is closed.
func (a *App) BindWorkers() {
	a.OnServe().BindFunc(func(e *core.ServeEvent) error {
		if err := e.Next(); err != nil {
			return err
		}
		a.Upgrade.Serve(e.Server, a.Start)
		return nil
	})
	var deadline time.Time
	a.OnTerminate().Bind(&hook.Handler[*core.TerminateEvent]{
		Id: "contactbaseDeadline",
		Func: func(e *core.TerminateEvent) error {
			deadline = time.Now().Add(stopPatience)
			return e.Next()
		},
		Priority: -20000, // before the requests are waited for, which counts
	})
	a.OnTerminate().Bind(&hook.Handler[*core.TerminateEvent]{
		Id: "contactbaseWorkers",
		Func: func(e *core.TerminateEvent) error {
			ctx, cancel := context.WithDeadline(context.Background(), deadline)
			defer cancel()
			if err := a.Stop(ctx); err != nil {
				e.App.Logger().Warn("stopping the deliveries", "error", err)
			}
			return e.Next()
		},
		Priority: -5000,
	})
}

// bindMoves removes what exports and imports of tenants that were killed have left, whenever the data directory is opened.
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

// bindRetention deletes every hour what has been kept long enough.
func (a *App) bindRetention(kept time.Duration) {
	ctx, cancel := context.WithCancel(context.Background())
	a.OnTerminate().BindFunc(func(e *core.TerminateEvent) error {
		cancel()
		return e.Next()
	})
	a.Cron().MustAdd("contactbaseRetention", "23 * * * *", func() {
		if a.Upgrade.Running() {
			return
		}
		if err := retention.Prune(ctx, a.App, a.Deliveries, time.Now().Add(-kept)); err != nil && ctx.Err() == nil {
			a.Logger().Error("pruning what was kept for long enough", "error", err)
		}
	})
}
