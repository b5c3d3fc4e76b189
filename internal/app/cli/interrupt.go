package cli

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
	"time"

	"contactbase/internal/order"

	"github.com/pocketbase/pocketbase"
	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/hook"
)

// runToEnd runs a command that does not serve. The first signal cancels its context, the second ends the program.
// PocketBase would close the database under the command and exit with success.
func runToEnd(pb *pocketbase.PocketBase) error {
	if err := pb.Bootstrap(); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	err := pb.RootCmd.ExecuteContext(ctx)
	return errors.Join(err, terminate(pb))
}

// startTimeout is how long an interrupted start may take to end in order.
const startTimeout = 10 * time.Second

// serveToEnd runs a command that serves until it ends or a signal comes. A signal during the start takes effect
// afterwards, because nothing that starts expects its database to be closed. PocketBase's own Execute does not wait,
// and its goroutine may listen for signals only after the server has started: a signal before that kills the program.
func serveToEnd(pb *pocketbase.PocketBase) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := pb.Bootstrap(); err != nil {
		return err
	}
	started := make(chan struct{})
	pb.OnServe().Bind(&hook.Handler[*core.ServeEvent]{
		Func: func(e *core.ServeEvent) error {
			defer close(started)
			return e.Next()
		},
		Priority: order.StartAwaited,
	})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = pb.RootCmd.Execute() // the caller tracks its error
	}()
	select {
	case <-ctx.Done():
		pb.Logger().Info("stopping", "reason", context.Cause(ctx))
		select {
		case <-started:
		case <-ended:
		case <-time.After(startTimeout):
		}
	case <-ended:
	}
	return terminate(pb)
}

func terminate(pb *pocketbase.PocketBase) error {
	event := new(core.TerminateEvent)
	event.App = pb
	return pb.OnTerminate().Trigger(event, func(e *core.TerminateEvent) error { return e.App.ResetBootstrapState() })
}
