package delivery

import (
	"context"
	"slices"
	"time"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/stamp"
)

// Store keeps events' deliveries. The package store has the one that is shipped; storetest.Run holds any other to the same
// behaviour.
type Store interface {
	Queue
	Participant

	// Redeliver makes a delivery due now, whatever its state, ahead of everything else at its endpoint and even if the endpoint's
	// circuit is open. If the webhook is disabled, the delivery waits until it is enabled. The error is sql.ErrNoRows if there is no
	// such delivery, and ErrErased if there is nothing left to send.
	Redeliver(deliveryID string, now time.Time) (*Delivery, error)

	// Recover makes everything due that the webhook missed, and returns what that is; with DryRun it only returns it. The error is
	// sql.ErrNoRows if there is no such webhook.
	Recover(webhookID string, recovery Recovery) (Missed, error)

	// Ping builds a webhook.ping for the webhook, disabled or not, has send attempt it, and then stores the event with its delivery
	// and the result. If the webhook was deleted meanwhile, or its tenant began to move, nothing is stored. The error is
	// sql.ErrNoRows if there is no such webhook.
	Ping(ctx context.Context, webhookID string, now time.Time, send func(*Job) Result) error

	// Prune deletes events made before that time whose deliveries have ended, with their deliveries and attempts. Events that are
	// pending stay, however old they are; a delivery that has waited since before that time for its webhook or tenant to be
	// enabled is given up first. Prune works in chunks, so that others can write in between; ctx ends it between two of them. It
	// returns how many events it deleted.
	Prune(ctx context.Context, before time.Time) (int, error)

	// Backlog returns how much is pending.
	Backlog(ctx context.Context) (Backlog, error)
}

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

// Backlog is what is pending.
type Backlog struct {
	Pending      int64     // deliveries that are not over
	FanOut       int64     // events without deliveries, after the fan-out cursor or set aside
	Oldest       time.Time // when the oldest of both was made; zero if there is none
	OldestFanOut time.Time // when the oldest of these events was made; zero if there is none
	Disabled     int64     // webhooks that are disabled
}

// Participant is the part of a Store that takes part in transactions of others: tx is an app in such a transaction.
//
// An event has no deliveries at first. The Engine sends it before any is written: the row of a delivery is first written with its result.
// Fan-out writes the deliveries that have no result yet, a moment later, and moves the fan-out cursor past the event. Who receives an event
// is decided by the state at the time when it happened, so a change of recipients calls FanOut in the same transaction first.
type Participant interface {
	// FanOut writes the deliveries of all events after the cursor: in the app's transaction, or if it is in none, in chunks, and only
	// of the events that exist at the time of the call. Tenants with events for many webhooks are only set aside: see FanOutAside.
	FanOut(ctx context.Context, app core.App) error

	// EraseContact redacts what is stored about a deleted contact: the payloads of its events, contact.deleted included, and the
	// responses to its deliveries, if they were delivered or have failed. What is still pending is redacted when it ends; to know,
	// EraseContact fans out first. It handles at most limit events, those after the row that an earlier call returned, and returns the
	// last row and the number of events.
	EraseContact(tx core.App, contactID string, after int64, limit int) (last int64, found int, err error)

	// DeleteDeliveries deletes at most limit deliveries of a deleted webhook and returns how many it found. The events stay; what they
	// say about erased contacts is redacted, unless other webhooks are still to receive it.
	DeleteDeliveries(tx core.App, webhookID string, limit int) (found int, err error)

	// Dequeue takes a delivery that is about to be deleted out of its contact's queue, so that the next one does not wait forever.
	Dequeue(tx core.App, deliveryID string) error
}

// Queue is the part of a Store that the engine works with.
//
// The engine calls it from one goroutine at a time; only Reschedule and FanOutAside may run beside the other calls. What is in flight is never stored:
// claims live in the engine's memory and end with the process, so that a crash leaves nothing to recover.
type Queue interface {
	// Poll returns which endpoints have pending deliveries, and which tenants are to be drained.
	Poll(ctx context.Context) (Agenda, error)

	// Fetch reads due deliveries and new events. What it returns may be claimed already.
	Fetch(ctx context.Context, fetch Fetch) (Fetched, error)

	// FanOutOld writes the deliveries of the next events after the cursor, in their order, and moves the cursor past them: as many as
	// hold up other writers for some milliseconds. It leaves a few events alone if the first of them is younger than age, because their
	// deliveries can still be written together with their results.
	FanOutOld(ctx context.Context, now time.Time, age time.Duration) (FannedOut, error)

	// FanOutAside writes the deliveries of events with many recipients, which FanOutOld and FanOut pass: some for each tenant that has any,
	// or for the one with that id. It may run beside the other calls.
	FanOutAside(ctx context.Context, tenantID string, now time.Time) (FannedOut, error)

	// Commit stores the results of attempts, all or none of them. It fans out events up to the last one that has a result. A result
	// counts only if its delivery is pending with one attempt less, so that a Commit can be repeated.
	Commit(ctx context.Context, commit Commit) (FannedOut, error)

	// Reschedule repairs times that a clock ahead of now has written. A retry waits no longer than it was to wait when it was planned,
	// and what was made in the future counts as made now. Calling it without need changes nothing that matters.
	Reschedule(ctx context.Context, now time.Time) error
}

// Agenda is when endpoints have something to send. It is a hint: Fetch decides.
type Agenda struct {
	Due   []Due
	Drain []string // tenants that are frozen for a move; the engine commits them as drained once it has no claims of theirs
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
	*Job           // without an Endpoint if nobody wants the event, or if nothing may be sent there now
	Webhook string // "" if nobody wants the event
	Behind  bool   // another delivery of the contact to the webhook is pending
}

// Commit is what to store.
type Commit struct {
	Now     time.Time
	Results []Result
	Drained []string // tenants of which no claim is left
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
