package testkit

import (
	"testing"
	"time"

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

// Calls returns the requests of the last 24 hours that are counted and stored for an API key. An hour may have begun
// since the first one.
func Calls(tb testing.TB, app core.App, key string) (sum activity.Calls) {
	tb.Helper()
	steps, err := activity.OfKey(app, key, activity.Day(time.Now()))
	if err != nil {
		tb.Fatal(err)
	}
	for _, step := range steps {
		sum.Answered, sum.Refused = sum.Answered+step.Answered, sum.Refused+step.Refused
		sum.Limited, sum.Failed = sum.Limited+step.Limited, sum.Failed+step.Failed
	}
	return sum
}
