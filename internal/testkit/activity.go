package testkit

import (
	"testing"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/activity"
)

// counterKey is the key of the app's activity worker in the app's store.
const counterKey = "testkitCounter"

// CountActivity counts and stores the activity, like the worker in the background.
func CountActivity(tb testing.TB, app core.App) {
	tb.Helper()
	if err := app.Store().Get(counterKey).(*activity.Worker).Write(tb.Context()); err != nil {
		tb.Fatal(err)
	}
}
