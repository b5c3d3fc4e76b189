package testkit

import (
	"context"
	"testing"
	"time"

	"github.com/pocketbase/pocketbase/tests"

	"contactbase/internal/delivery"
	"contactbase/internal/safehttp"
)

// NewSender returns a sender that can reach loopback addresses.
func NewSender() *delivery.Sender { return delivery.NewSender(safehttp.New(thisMachine), "test") }

// NewDeliveringApp is NewApp with all background work, until the test ends.
func NewDeliveringApp(tb testing.TB) *tests.TestApp {
	tb.Helper()
	app, running := newApp(tb, connect(tb), wiring(nil))
	running.Start()
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := running.Stop(ctx); err != nil {
			tb.Errorf("stopping the engine: %v", err)
		}
	})
	return app
}

// Eventually waits until the condition holds, and fails the test after two minutes, which no busy machine needs.
func Eventually(tb testing.TB, what string, condition func() bool) {
	tb.Helper()
	deadline := time.Now().Add(2 * time.Minute)
	for tick := time.NewTicker(2 * time.Millisecond); ; <-tick.C {
		if condition() {
			tick.Stop()
			return
		}
		if time.Now().After(deadline) {
			tick.Stop()
			tb.Fatalf("timed out waiting for: %s", what)
		}
	}
}
