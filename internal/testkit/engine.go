package testkit

import (
	"context"
	"net/netip"
	"testing"
	"time"

	"github.com/pocketbase/pocketbase/tests"

	"contactbase/internal/delivery"
	"contactbase/internal/safehttp"
)

// NewSender returns a sender that reaches this machine.
func NewSender() *delivery.Sender {
	client := safehttp.New(safehttp.Options{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
	return delivery.NewSender(client, "test")
}

// NewDeliveringApp is NewApp with an engine that sends until the test ends.
func NewDeliveringApp(tb testing.TB) *tests.TestApp {
	tb.Helper()
	var engine *delivery.Engine
	app := NewApp(tb, func() { engine.Wake() })
	engine = delivery.NewEngine(app, delivery.Options{Sender: NewSender()})
	engine.Start()
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := engine.Stop(ctx); err != nil {
			tb.Errorf("stopping the engine: %v", err)
		}
	})
	return app
}

// Eventually waits until the condition holds, and fails the test where it does not within 20 s.
func Eventually(tb testing.TB, what string, condition func() bool) {
	tb.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for tick := time.NewTicker(2 * time.Millisecond); ; <-tick.C {
		if condition() {
			tick.Stop()
			return
		}
		if time.Now().After(deadline) {
			tick.Stop()
			tb.Fatalf("waited in vain: %s", what)
		}
	}
}
