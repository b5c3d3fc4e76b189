package overview

import (
	"time"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/activity"
	"contactbase/internal/stamp"
)

// WebhookActivity has the delivery attempts of a webhook by step.
type WebhookActivity struct {
	Steps []AttemptStep `json:"steps"`
	Times               // of the whole span
}

// AttemptStep is a bar of the chart of attempts.
type AttemptStep struct {
	Start string `json:"start"`
	activity.Attempts
	Times
}

// Times are the median and the 95th percentile of the receiver's response times, in milliseconds; nil
// without responses.
type Times struct {
	P50 *int64 `json:"p50Ms"`
	P95 *int64 `json:"p95Ms"`
}

func timesOf(times activity.ResponseTimes) Times {
	if times.Count() == 0 {
		return Times{}
	}
	p50, p95 := times.Quantile(.5).Milliseconds(), times.Quantile(.95).Milliseconds()
	return Times{&p50, &p95}
}

// ActivityOfWebhook returns the activity of a webhook in the span.
func ActivityOfWebhook(app core.App, webhook string, span activity.Span) (*WebhookActivity, error) {
	steps, err := activity.OfWebhook(app, webhook, span)
	if err != nil {
		return nil, err
	}
	shown := &WebhookActivity{}
	var all activity.Attempts
	for i, a := range steps {
		all.Merge(a)
		shown.Steps = append(shown.Steps, AttemptStep{stamp.Shown(span.StartOf(i)), a, timesOf(a.ResponseTimes)})
	}
	shown.Times = timesOf(all.ResponseTimes)
	return shown, nil
}

// KeyActivity has the calls with a key by step, the last failed ones, and the slowest of the last 24 hours.
type KeyActivity struct {
	Steps   []CallStep `json:"steps"`
	Last    []Call     `json:"last"`    // the newest first
	Slowest []Call     `json:"slowest"` // the slowest first
}

// CallStep is a bar of the chart of calls.
type CallStep struct {
	Start string `json:"start"`
	activity.Calls
}

// Call is a failed or slow call.
type Call struct {
	RequestID  string `json:"requestId"`
	Method     string `json:"method"`
	Path       string `json:"path"`
	Status     int    `json:"status"`
	Code       string `json:"code"`       // "" without an error
	Parameters string `json:"parameters"` // the names of the invalid ones, separated by spaces
	DurationMs int64  `json:"durationMs"`
	Created    string `json:"created"`
}

func callsOf(kept []activity.Call) []Call {
	shown := make([]Call, 0, len(kept))
	for _, c := range kept {
		shown = append(shown, Call{
			c.RequestID, c.Method, c.Path, c.Status, c.Code, c.Parameters, c.Took.Milliseconds(), stamp.Shown(c.At),
		})
	}
	return shown
}

// ActivityOfKey returns the activity of a key in the span, with the calls that the filter selects; the key "" stands
// for calls without a valid key.
func ActivityOfKey(
	app core.App, key string, f activity.CallFilter, span activity.Span, now time.Time,
) (*KeyActivity, error) {
	steps, err := activity.OfKey(app, key, span)
	if err != nil {
		return nil, err
	}
	last, err := activity.FailedCalls(app, key, f, now)
	if err != nil {
		return nil, err
	}
	slowest, err := activity.SlowestCalls(app, key, f, now)
	if err != nil {
		return nil, err
	}
	shown := &KeyActivity{Last: callsOf(last), Slowest: callsOf(slowest)}
	for i, c := range steps {
		shown.Steps = append(shown.Steps, CallStep{stamp.Shown(span.StartOf(i)), c})
	}
	return shown, nil
}
