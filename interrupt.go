package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"

	"github.com/pocketbase/pocketbase"
	"github.com/pocketbase/pocketbase/core"
)

// runToEnd runs a command that does not serve. The first signal ends its context, and the second one the program: PocketBase would close
// the database under it, and end as if all were done.
func runToEnd(pb *pocketbase.PocketBase) error {
	if err := pb.Bootstrap(); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	err := pb.RootCmd.ExecuteContext(ctx)
	event := new(core.TerminateEvent)
	event.App = pb
	return errors.Join(err, pb.OnTerminate().Trigger(event, func(e *core.TerminateEvent) error { return e.App.ResetBootstrapState() }))
}
