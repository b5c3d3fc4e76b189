package app

import (
	"context"
	"errors"

	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/hook"

	"contactbase/internal/event"
	"contactbase/internal/health"
	"contactbase/internal/order"
	"contactbase/internal/replica"
	"contactbase/internal/sqlite"
	"contactbase/routes/route"
)

// bindReplica replicates the databases from before the program serves until they are closed, and runs a restore
// test every night.
func bindReplica(app core.App, r *replica.Replica, watcher *event.Watcher) {
	const id = "contactbaseReplica"
	if r.IsSync() {
		watcher.EndAt(r.NewestReplicatedEvent)
	}
	app.OnServe().Bind(&hook.Handler[*core.ServeEvent]{
		Id: id,
		Func: func(e *core.ServeEvent) error {
			if r.IsSync() {
				db := e.App.ConcurrentDB() // the app no longer has it when the replica stops
				r.TrackEvents(func() (string, error) { return event.Newest(sqlite.Direct(db)) }, watcher.Wake)
			}
			if err := r.Start(e.App); err != nil {
				return err
			}
			return e.Next()
		},
		Priority: order.ReplicaStarts,
	})
	app.OnTerminate().Bind(&hook.Handler[*core.TerminateEvent]{
		Id: id,
		Func: func(e *core.TerminateEvent) error {
			return errors.Join(e.Next(), r.Stop())
		},
		Priority: order.ReplicaEnds,
	})
	app.Cron().MustAdd(id+"Drill", "17 3 * * *", func() {
		if _, err := r.TestRestore(context.Background()); err != nil {
			app.Logger().Error("the restore test of the replica did not run", "error", err)
		}
	})
}

func checkReplica(r *replica.Replica) []health.Check {
	if r == nil {
		return nil
	}
	return []health.Check{{Name: "replica", Look: func(context.Context) error { return r.Status().Err() }}}
}

// forRoutes returns nil for nil: an interface that holds a nil pointer is not nil.
func forRoutes(r *replica.Replica) route.Replica {
	if r == nil {
		return nil
	}
	return r
}
