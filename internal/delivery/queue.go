package delivery

import (
	"context"
	"time"

	"contactbase/internal/stamp"
)

// Recovery selects which of a webhook's deliveries to send again: those that failed, and the events of its kinds that
// it never got, because it was disabled or the tenant lacked the paid feature.
type Recovery struct {
	Since        time.Time
	Before       bool // include events older than the webhook
	RetryPending bool // make pending deliveries due, which stay at their number of attempts
	DryRun       bool

	// waits for a turn to read a page, and returns what ends it; nil if nobody else reads
	Turn func(ctx context.Context) (release func(), err error)
}

// Missed is what a recovery sends, as the superuser routes answer it.
type Missed struct {
	Count   int            `json:"count"`  // of failed and missed ones
	Failed  int            `json:"failed"` // deliveries that failed
	Missed  int            `json:"missed"` // events without a delivery
	Types   map[string]int `json:"types"`  // of both, by type of event
	Oldest  stamp.Time     `json:"oldest"` // when the first of both happened; zero if there are none
	Newest  stamp.Time     `json:"newest"`
	Pending int            `json:"pending"` // deliveries that are not over

	PendingRetried *int `json:"pendingRetried,omitempty"` // how many of these are sent now; nil without RetryPending
}

// Recovered returns how many deliveries the recovery sends.
func (m *Missed) Recovered() int {
	if m.PendingRetried == nil {
		return m.Count
	}
	return m.Count + *m.PendingRetried
}

// BacklogFunc returns what is pending.
type BacklogFunc func(context.Context) (Backlog, error)

// Backlog is what is pending.
type Backlog struct {
	Pending      int64     // deliveries that are not over
	FanOut       int64     // events after the fan-out cursor
	Oldest       time.Time // when the oldest of both was made; zero if there is none
	OldestFanOut time.Time // when the oldest of these events was made; zero if there is none
	Disabled     int64     // webhooks that are disabled
}

// Queue keeps events' deliveries for the engine. The package store has the one that is shipped.
//
// An event has no deliveries at first. FanOut decides its recipients by the webhooks of that moment, writes a delivery
// for each, and moves the fan-out cursor past the event. Only a delivery that has a row is sent. A webhook gets no
// events from before it was made or enabled.
//
// The engine calls a Queue from one goroutine at a time; only Reschedule may run beside the other calls. Claims are
// never stored: they live in the engine's memory and end with the process, so that a crash leaves nothing to recover.
type Queue interface {
	// Poll returns which endpoints have pending deliveries, and which tenants are to be drained.
	Poll(ctx context.Context) (Agenda, error)

	// FanOut writes the deliveries of events after the cursor, in their order, and moves the cursor past them: as many
	// as delay other writers by a few milliseconds.
	FanOut(ctx context.Context, now time.Time) (FannedOut, error)

	// Fetch reads due deliveries. They may be claimed already.
	Fetch(ctx context.Context, fetch Fetch) ([]*Job, error)

	// Commit stores the results of attempts, all or none of them, and returns the endpoints whose next deliveries can
	// be attempted then. A result counts only if its delivery is pending with one attempt less, so that a Commit can be
	// repeated. A result of a delivery that is gone is dropped.
	Commit(ctx context.Context, commit Commit) ([]Ready, error)

	// Reschedule repairs times that were written while the clock was ahead. A retry waits no longer than its planned
	// delay, and a delivery created in the future counts as created now. An unnecessary call does no harm.
	Reschedule(ctx context.Context, now time.Time) error
}

// Agenda is when endpoints have something to send. It is a hint: Fetch decides.
type Agenda struct {
	Due   []Due
	Drain []string // tenants that receive nothing more; the engine commits them as drained once it has no claims of theirs
}

// Due is when the first pending delivery of an endpoint is due.
type Due struct {
	Webhook, Tenant string
	At              time.Time // zero if somebody asked for the delivery
}

// Fetch says what to read.
type Fetch struct {
	Now     time.Time
	Limits  map[string]int // at most so many due deliveries, by webhook
	Claimed []string       // ids of due deliveries that are claimed and need not be read
}

// Commit is what to store.
type Commit struct {
	Now     time.Time
	Results []Result
	Drained []string // tenants without claims
}

// Ready is an endpoint with a delivery that can be attempted now.
type Ready struct{ Webhook, Tenant string }

// FannedOut is what a fan-out has done.
type FannedOut struct {
	Pending []Ready // endpoints with new deliveries
	More    bool    // there may be more to fan out
}
