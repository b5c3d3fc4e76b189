package delivery

import (
	"slices"
	"testing"
	"time"
)

func TestPolicy(t *testing.T) {
	t.Parallel()
	policy := DefaultPolicy()
	now := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	const day = 24 * time.Hour
	status := func(code int) Outcome { return Outcome{Status: code} }
	after := func(code int, wait time.Duration) Outcome { return Outcome{Status: code, RetryAfter: wait} }
	for _, c := range []struct {
		what    string
		attempt int
		outcome Outcome
		random  float64
		status  string
		wait    time.Duration
		disable bool
	}{
		{"200", 1, status(200), .5, StatusDelivered, 0, false},
		{"204", 1, status(204), .5, StatusDelivered, 0, false},
		{"299", 1, status(299), .5, StatusDelivered, 0, false},
		{"success at the last attempt", 10, status(200), .5, StatusDelivered, 0, false},
		{"1xx", 1, status(101), .5, StatusPending, 5 * time.Second, false},
		{"301", 1, status(301), .5, StatusPending, 5 * time.Second, false},
		{"307", 1, status(307), .5, StatusPending, 5 * time.Second, false},
		{"400", 1, status(400), .5, StatusPending, 5 * time.Second, false},
		{"404", 1, status(404), .5, StatusPending, 5 * time.Second, false},
		{"500", 1, status(500), .5, StatusPending, 5 * time.Second, false},
		{"timeout", 1, Outcome{Failure: FailureTimeout}, .5, StatusPending, 5 * time.Second, false},
		{"network", 1, Outcome{Failure: FailureNetwork}, .5, StatusPending, 5 * time.Second, false},
		{"our own fault", 1, Outcome{Failure: FailureLocal}, .5, StatusPending, 5 * time.Second, false},
		{"200 that broke off", 1, Outcome{Status: 200, Failure: FailureNetwork}, .5, StatusPending, 5 * time.Second, false},
		{"410 that broke off", 1, Outcome{Status: 410, Failure: FailureNetwork}, .5, StatusPending, 5 * time.Second, false},
		{"410", 1, status(410), .5, StatusFailed, 0, true},
		{"410 at the last attempt", 10, status(410), .5, StatusFailed, 0, true},

		{"after the 2nd", 2, status(500), .5, StatusPending, time.Minute, false},
		{"after the 3rd", 3, status(500), .5, StatusPending, 5 * time.Minute, false},
		{"after the 4th", 4, status(500), .5, StatusPending, 30 * time.Minute, false},
		{"after the 5th", 5, status(500), .5, StatusPending, 2 * time.Hour, false},
		{"after the 6th", 6, status(500), .5, StatusPending, 6 * time.Hour, false},
		{"after the 7th", 7, status(500), .5, StatusPending, 12 * time.Hour, false},
		{"after the 8th", 8, status(500), .5, StatusPending, day, false},
		{"after the 9th", 9, status(500), .5, StatusPending, 28 * time.Hour, false},
		{"after the 10th", 10, status(500), .5, StatusFailed, 0, false},
		{"after more than there are", 11, status(500), .5, StatusFailed, 0, false},

		{"least jitter", 2, status(500), 0, StatusPending, 54 * time.Second, false},
		{"most jitter", 2, status(500), .9999999999, StatusPending, 66 * time.Second, false},

		{"Retry-After later than the schedule", 1, after(429, time.Minute), .5, StatusPending, time.Minute, false},
		{"Retry-After earlier than the schedule", 2, after(429, time.Second), .5, StatusPending, time.Minute, false},
		{"Retry-After on another status", 1, after(500, time.Hour), .5, StatusPending, time.Hour, false},
		{"Retry-After of a day", 1, after(503, day), .5, StatusPending, day, false},
		{"Retry-After of more", 1, after(503, day+time.Second), .5, StatusPending, day, false},
		{"Retry-After shorter than the last delay", 9, after(503, day), .5, StatusPending, 28 * time.Hour, false},
		{"Retry-After at the last attempt", 10, after(503, time.Hour), .5, StatusFailed, 0, false},
		{"Retry-After with success", 1, after(200, time.Hour), .5, StatusDelivered, 0, false},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			got := policy.Next(c.attempt, c.outcome, now, c.random)
			if got.Status != c.status || got.Disable != "" != c.disable {
				t.Fatalf("got %+v", got)
			}
			if c.status != StatusPending {
				if !got.Next.IsZero() {
					t.Errorf("the next attempt is due at %v", got.Next)
				}
				return
			}
			if wait := got.Next.Sub(now).Round(time.Millisecond); wait != c.wait {
				t.Errorf("waits %v, want %v", wait, c.wait)
			}
		})
	}
}

func TestPolicyLastsThreeDays(t *testing.T) {
	t.Parallel()
	policy := DefaultPolicy()
	var total time.Duration
	for _, delay := range policy.Delays {
		total += delay
	}
	if len(policy.Delays) != 10 || total.Round(time.Hour) != 73*time.Hour {
		t.Errorf("%d attempts in %v", len(policy.Delays), total)
	}
}

func TestParseRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"":                                 0,
		"0":                                0,
		"120":                              2 * time.Minute,
		" 120 ":                            2 * time.Minute,
		"-1":                               0,
		"1.5":                              0,
		"soon":                             0,
		"99999999999999999999":             (1<<31 - 1) * time.Second,
		"Sat, 31 Jan 2026 12:00:30 GMT":    30 * time.Second,
		"Saturday, 31-Jan-26 12:00:30 GMT": 30 * time.Second,
		"Sat Jan 31 12:00:30 2026":         30 * time.Second,
		"Sat, 31 Jan 2026 11:59:30 GMT":    0,
	} {
		if got := parseRetryAfter(value, now); got != want {
			t.Errorf("%q: got %v, want %v", value, got, want)
		}
	}
}

func TestExplain(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		attempt Attempt
		want    string
	}{
		{Attempt{Status: 204, Outcome: Outcome{Status: 204}}, ""},
		{Attempt{Status: 301, Outcome: Outcome{Status: 301}}, "the endpoint responded with 301 Moved Permanently; redirects are not followed"},
		{Attempt{Status: 500, Outcome: Outcome{Status: 500}}, "the endpoint responded with 500 Internal Server Error"},
		{Attempt{Status: 599, Outcome: Outcome{Status: 599}}, "the endpoint responded with 599"},
		{Attempt{Status: 200, Error: "timeout", Outcome: Outcome{Status: 200, Failure: FailureTimeout}}, "timeout"},
		{Attempt{Error: "connection refused", Outcome: Outcome{Failure: FailureNetwork}}, "connection refused"},
	} {
		if got := c.attempt.LastError(); got != c.want {
			t.Errorf("%+v: got %q, want %q", c.attempt, got, c.want)
		}
	}
}

func TestTruncate(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"": "", "four": "four", "fünf!": "fün…", "\xff\xff\xff\xff\xff": "\uFFFD"} {
		if got := truncate(text, 4); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

// The attempts that are left follow the next one by the schedule.
func TestRest(t *testing.T) {
	t.Parallel()
	next := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	for made, want := range map[int][]time.Duration{
		6: {12 * time.Hour, 36 * time.Hour, 64 * time.Hour}, 8: {28 * time.Hour}, 9: nil, 10: nil,
	} {
		var got []time.Duration
		for _, at := range DefaultPolicy().Rest(made, next) {
			got = append(got, at.Sub(next))
		}
		if !slices.Equal(got, want) {
			t.Errorf("after %d attempts there are left %v", made, got)
		}
	}
}

// A webhook is not disabled before its deliveries have had all their attempts, except those of the last, incomplete
// day.
func TestTotal(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		policy Policy
		total  time.Duration
		days   int
	}{
		{DefaultPolicy(), 72*time.Hour + 36*time.Minute + 5*time.Second, 3},
		{Policy{Delays: append(DefaultPolicy().Delays, 24*time.Hour, 24*time.Hour)}, 120*time.Hour + 36*time.Minute + 5*time.Second, 5},
		{Policy{Delays: []time.Duration{0, time.Second}}, time.Second, 1},
	} {
		if total, days := c.policy.Total(), c.policy.DeadDays(); total != c.total || days != c.days {
			t.Errorf("%v take %v, and %d days disable the webhook, want %v and %d",
				c.policy.Delays, total, days, c.total, c.days)
		}
	}
}
