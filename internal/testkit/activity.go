package testkit

import (
	"testing"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/activity"
)

// counterKey is where an app of this package has the worker that counts what happens.
const counterKey = "testkitCounter"

// CountActivity counts what has happened, as the worker does in the background.
func CountActivity(tb testing.TB, app core.App) {
	tb.Helper()
	if err := app.Store().Get(counterKey).(*activity.Worker).Write(tb.Context()); err != nil {
		tb.Fatal(err)
	}
}
