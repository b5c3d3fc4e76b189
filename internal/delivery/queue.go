package delivery

import (
	"context"
	"slices"
	"time"

	"contactbase/internal/stamp"
)

// Recovery selects which of a webhook's deliveries to send again: those that failed, and the events of its kinds that it never got,
// because it was disabled or the tenant lacked the paid feature.
type Recovery struct {
	Since   time.Time
	Before  bool // include events older than the webhook
	Pending bool // include deliveries that wait for a retry, which stay at their number of attempts
	DryRun  bool
}

// Missed is what a recovery sends, as the superuser routes answer it.
type Missed struct {
	Count  int            `json:"count"`
	Types  map[string]int `json:"types"`  // by type of event
	Oldest stamp.Time     `json:"oldest"` // when the first of the events happened; zero if there are none
	Newest stamp.Time     `json:"newest"`
}

// BacklogFunc returns what is pending.
type BacklogFunc func(context.Context) (Backlog, error)

// Backlog is what is pending.
type Backlog struct {
	Pending      int64     // deliveries that are not over
	FanOut       int64     // events without deliveries, after the fan-out cursor or set aside
	Oldest       time.Time // when the oldest of both was made; zero if there is none
	OldestFanOut time.Time // when the oldest of these events was made; zero if there is none
	Disabled     int64     // webhooks that are disabled
}

// Queue keeps events' deliveries for the engine. The package store has the one that is shipped.
//
// An event has no deliveries at first. Its recipients are decided by the webhooks at the time when it is fetched, or
// otherwise when it is fanned out. A process decides once; after a crash, the next one decides again for events without deliveries. A webhook gets no events from before it was made or enabled. The Engine sends an event before its delivery has a
// row, and writes the row with the result. Fan-out writes the deliveries that have no result yet, a moment later, and moves the fan-out
// cursor past the event.
//
// The engine calls a Queue from one goroutine at a time; only Reschedule and a FanOut with Aside may run beside the other calls. Claims are
// never stored: they live in the engine's memory and end with the process, so that a crash leaves nothing to recover.
type Queue interface {
	// Poll returns which endpoints have pending deliveries, and which tenants are to be drained.
	Poll(ctx context.Context) (Agenda, error)

	// Fetch reads due deliveries and new events. What it returns may be claimed already.
	Fetch(ctx context.Context, fetch Fetch) (Fetched, error)

	// FanOut writes deliveries of events after the cursor, in their order, and moves the cursor past them: as many as delay other writers
	// by a few milliseconds.
	FanOut(ctx context.Context, order FanOut) (FannedOut, error)

	// Commit stores the results of attempts, all or none of them. It fans out events up to the last one that has a result. A result
	// counts only if its delivery is pending with one attempt less, so that a Commit can be repeated.
	Commit(ctx context.Context, commit Commit) (FannedOut, error)

	// Reschedule repairs times that were written while the clock was ahead. A retry waits no longer than its planned delay, and a
	// delivery created in the future counts as created now. An unnecessary call does no harm.
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
	Due     map[string]int // at most so many due deliveries, by webhook
	Claimed []string       // ids of due deliveries that are claimed and need not be read
	After   string         // the event after which new events are read, if it is after the fan-out cursor; "" for the cursor
	New     int            // at most so many deliveries of new events
}

// Fetched is what a Fetch has read.
type Fetched struct {
	Due  []*Job
	New  []NewJob // in the order of the events
	More bool     // New was cut off by the limit: there may be more
}

// sendable reports whether there is anything to send in the batch.
func (b Fetched) sendable() bool {
	return len(b.Due) > 0 || slices.ContainsFunc(b.New, func(n NewJob) bool { return n.Endpoint != nil })
}

// NewJob is a delivery that an event after the fan-out cursor will have.
type NewJob struct {
	*Job           // without an Endpoint if there is no Webhook, or if nothing may be sent there now
	Webhook string // "" if nobody wants the event, and with Later
	Later   bool   // the deliveries of the event are left to a later fetch or to fan-out
	Behind  bool   // another delivery of the contact to the webhook is pending
}

// FanOut says which events to fan out.
type FanOut struct {
	Now   time.Time
	Age   time.Duration // leave a few events alone if the first is younger: their deliveries can still be written together with their results
	Aside bool          // only the events of tenants that are set aside: some for each tenant
}

// Commit is what to store.
type Commit struct {
	Now     time.Time
	Results []Result
	Drained []string // tenants without claims
}

// Ready is a delivery that can be attempted now.
type Ready struct {
	Event           string // "" for the next one of some contact
	Webhook, Tenant string
}

// FannedOut is what a fan-out has done.
type FannedOut struct {
	Pending []Ready // what can be attempted now
	More    bool    // there may be more to fan out
}
