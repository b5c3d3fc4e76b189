package delivery

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// The states of a delivery, as its column status holds them.
const (
	StatusPending   = "pending"   // an attempt is due, now or later
	StatusDelivered = "delivered" // the endpoint responded with 2xx
	StatusFailed    = "failed"    // no attempts are left; recovery or redelivery queues it again
)

// Outcome is what the next step depends on.
type Outcome struct {
	Status     int           // of the response; 0 if there was none
	Failure    Failure       // FailureNone if the response was complete
	RetryAfter time.Duration // what the endpoint asked for; 0 if nothing
}

// Success reports whether the endpoint accepted the event: a complete response with a status of 200 to 299.
func (o Outcome) Success() bool {
	return o.Failure == FailureNone && o.Status >= 200 && o.Status <= 299
}

// Decision is the state of a delivery after an attempt.
type Decision struct {
	Status  string    // StatusPending, StatusDelivered or StatusFailed
	Next    time.Time // when the next attempt is due; zero unless pending
	Disable string    // why the webhook must be disabled; "" if it is not
}

// Policy decides when to retry. It is pure: time and randomness are arguments.
type Policy struct {
	// before each attempt; the first is before the first attempt, so there are len(Delays) attempts
	Delays        []time.Duration
	Jitter        float64       // how much a delay varies either way, from 0 to 1
	MaxRetryAfter time.Duration // the longest Retry-After that is honoured
}

// DefaultPolicy returns the retry policy of all webhooks. The figures of messages come from it, and
// docs/retries_test.go holds those in documents, alerts and the dashboard against it.
func DefaultPolicy() Policy {
	return Policy{
		Delays: []time.Duration{
			0, 5 * time.Second, time.Minute, 5 * time.Minute, 30 * time.Minute,
			2 * time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour, 28 * time.Hour,
		},
		Jitter:        0.1,
		MaxRetryAfter: 24 * time.Hour,
	}
}

// Total returns how long all attempts of a delivery take if they fail, without jitter and Retry-After.
func (p Policy) Total() (total time.Duration) {
	for _, delay := range p.Delays {
		total += delay
	}
	return total
}

// DeadDays returns for how many days every attempt must fail before the webhook is disabled: the whole days of Total,
// at least one.
func (p Policy) DeadDays() int { return max(int(p.Total()/(24*time.Hour)), 1) }

// Next decides after an attempt. attempt counts from 1; random is in [0, 1).
//
// A Retry-After only ever delays: the next attempt comes at the later of what the schedule and the endpoint say.
// It applies to every failure that has one, not only to 429 and 503 (RFC 9110, section 10.2.3).
func (p Policy) Next(attempt int, outcome Outcome, now time.Time, random float64) Decision {
	switch {
	case outcome.Success():
		return Decision{Status: StatusDelivered}
	case outcome.Failure == FailureNone && outcome.Status == http.StatusGone:
		return Decision{Status: StatusFailed, Disable: "The endpoint responded with 410 Gone."}
	case attempt >= len(p.Delays):
		return Decision{Status: StatusFailed}
	}
	delay := time.Duration(float64(p.Delays[attempt]) * (1 + p.Jitter*(2*random-1)))
	return Decision{Status: StatusPending, Next: now.Add(max(delay, min(outcome.RetryAfter, p.MaxRetryAfter)))}
}

// Rest returns when the attempts after the next one are due if all of them fail, without jitter and Retry-After.
func (p Policy) Rest(made int, next time.Time) []time.Time {
	var rest []time.Time
	for attempt := made + 1; attempt < len(p.Delays); attempt++ {
		next = next.Add(p.Delays[attempt])
		rest = append(rest, next)
	}
	return rest
}

// parseRetryAfter reads a Retry-After header, seconds or an HTTP date (RFC 9110, section 10.2.3). It returns 0 for
// none, for a date in the past, and for an invalid one.
func parseRetryAfter(value string, now time.Time) time.Duration {
	value = strings.TrimSpace(value)
	if value == "" {
		return 0
	}
	if strings.Trim(value, "0123456789") == "" {
		seconds, _ := strconv.ParseInt(value, 10, 32) // the largest one if it is out of range
		return time.Duration(seconds) * time.Second
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	return max(0, at.Sub(now))
}

// LastError returns the text of a delivery's lastError; "" if the attempt succeeded.
func (a *Attempt) LastError() string {
	switch {
	case a.Outcome.Success():
		return ""
	case a.Error != "":
		return a.Error
	case a.Status >= 300 && a.Status <= 399:
		return fmt.Sprintf("the endpoint responded with %s; redirects are not followed", statusText(a.Status))
	default:
		return "the endpoint responded with " + statusText(a.Status)
	}
}

func statusText(status int) string {
	return strings.TrimSpace(strconv.Itoa(status) + " " + http.StatusText(status))
}
