package delivery

import (
	"context"
	"time"

	"github.com/pocketbase/pocketbase/core"
)

// Store is where deliveries are kept. The one in the package store is shipped; storetest.Run holds any other to the same
// behaviour.
type Store interface {
	Queue
	Participant

	// Redeliver queues a delivery for an attempt now, whatever its state, ahead of what else is due there and even where
	// the circuit of the endpoint is open. If the webhook is disabled it waits until that is enabled again. The
	// error is sql.ErrNoRows where there is no such delivery, and ErrErased where there is nothing left to send.
	Redeliver(deliveryID string, now time.Time) (*Delivery, error)

	// Recover queues again all that the webhook missed, and returns what that is; with DryRun that is all it does. The error is
	// sql.ErrNoRows where there is no such webhook.
	Recover(webhookID string, recovery Recovery) (Missed, error)

	// AddPing adds a webhook.ping with its delivery to the webhook, whether that is disabled or not, and returns it as a
	// claimed job. The error is sql.ErrNoRows where there is no such webhook.
	AddPing(ctx context.Context, webhookID string, now time.Time) (*Job, error)

	// Prune deletes what is over and was made before that time: events of which no delivery is pending, with their
	// deliveries and attempts. What is still to be placed or delivered stays, however old it is; what has waited since before that
	// time for its webhook or tenant to be enabled is given up first. It goes in steps, so that others get to write in
	// between; ctx ends the work between two of them. It returns how many events went.
	Prune(ctx context.Context, before time.Time) (int, error)

	// Backlog tells what waits.
	Backlog(ctx context.Context) (Backlog, error)
}

// Recovery says what of a webhook's deliveries is queued again: what was given up, and the events of its kinds that it was never
// sent, because it was disabled or the tenant was without the paid feature.
type Recovery struct {
	Since  time.Time
	Before bool // also events from before there was the webhook
	DryRun bool
}

// Missed is what a recovery is about.
type Missed struct {
	Count  int
	Types  map[string]int // by type of event
	Oldest time.Time      // when the first of the events happened; zero where there are none
	Newest time.Time
}

// Backlog is what waits to be delivered.
type Backlog struct {
	Pending        int64     // deliveries that are not over
	Unplaced       int64     // events that have no deliveries yet
	Oldest         time.Time // when the oldest of both was made; zero where there is none
	OldestUnplaced time.Time // when the oldest of those events was made; zero where there is none
	Disabled       int64     // webhooks that are disabled
}

// Participant is the part of a Store that takes part in what others do: tx is an app in a transaction of theirs.
//
// An event has no deliveries at first. They are placed a moment later, all that are in front of a position that the store
// keeps having theirs. Who gets an event is decided by how things were when it happened: so whatever changes who is
// told calls PlaceAll in its transaction, before the change.
type Participant interface {
	// PlaceAll places all events behind the position: in the app's transaction, or where it is in none, in steps and as many
	// as there are when it is called.
	PlaceAll(ctx context.Context, app core.App) error

	// EraseContact redacts what is stored about a contact that was deleted: the payloads of its events, contact.deleted
	// included, and the answers of its deliveries, as far as they were delivered or given up. What is still pending is
	// redacted when it ends; to tell, it places all events first. It looks at no more than limit events, those after the
	// row of an earlier call, and returns the last row and how many there were.
	EraseContact(tx core.App, contactID string, after int64, limit int) (last int64, found int, err error)

	// DeleteDeliveries deletes no more than limit of the deliveries to a webhook that was deleted, and returns how many
	// there were. The events stay; what they say of erased contacts is redacted, unless other webhooks are still to get it.
	DeleteDeliveries(tx core.App, webhookID string, limit int) (found int, err error)

	// Leave takes a delivery out of its line before it is deleted, so that the next one does not wait for ever.
	Leave(tx core.App, deliveryID string) error
}

// Queue is the part of a Store where the engine gets its work from.
//
// A claim is a lease: it ends by itself, so that the deliveries of a process that died come back without anybody
// noticing its death. Every write that follows a claim is fenced by it: what a former holder reports has no effect.
//
// Who knows that nobody else claims may have claims that are kept in memory alone, which spares a write for each delivery
// (ClaimOptions.Exclusive). They last until their results are stored or they are released, and end with the process.
type Queue interface {
	// Place gives the next events behind the position their deliveries, in the order of the events, and moves the position
	// behind them. It takes as many as keep others waiting for some milliseconds, and tells whether there are more. It leaves
	// few events alone, of which the first is younger than age: who claims what is unplaced sends them as they are.
	Place(ctx context.Context, now time.Time, age time.Duration) (more bool, err error)

	// Claim leases due deliveries, at most options.Limit, fairly over tenants and endpoints, and returns them
	// with all that an attempt needs. No two claims hold the same delivery. The first attempt of a delivery waits for the
	// one before it of the same contact and webhook, until that is over; but once that was attempted and is not in flight,
	// no longer than a minute from when it was made.
	Claim(ctx context.Context, options ClaimOptions) ([]*Job, error)

	// Complete stores the results of attempts and ends their claims, all of them or none. Events of which it stores a result are
	// placed, and so are those in front of them.
	Complete(ctx context.Context, results []Result, now time.Time) error

	// Release ends claims without an attempt; the deliveries are due again at once.
	Release(ctx context.Context, jobs []*Job) error

	// ReleaseAll ends every claim that is stored. Only who knows that nobody else is sending may call it.
	ReleaseAll(ctx context.Context) error

	// SetBack makes good that the clock was ahead before now. Who was to wait until a time waits from now on for no longer
	// than it was to wait then; what was made in the future counts as made now; and a claim that lasts longer than any can
	// is over, unless it is of one of the jobs that are held. Calling it without need changes nothing that matters.
	SetBack(ctx context.Context, now time.Time, held []*Job) error

	// NextDue returns when the next delivery becomes due after now; zero where none is planned.
	NextDue(ctx context.Context, now time.Time) (time.Time, error)
}

// ClaimOptions say how much to claim, and from where.
type ClaimOptions struct {
	Now         time.Time
	Lease       time.Duration    // how long the claims last, in memory also how long they are to wait at most
	Exclusive   bool             // nobody else claims: the claims are kept in memory
	Unplaced    bool             // also what events behind the position are to become; only where Exclusive
	Limit       int              // the most deliveries to claim
	PerEndpoint int              // the most of one endpoint that Slots does not name
	Slots       map[string]Slots // by webhook id: the endpoints that may take more or fewer
	PerTenant   int              // the most of one tenant that Tenants does not name; 0 is no limit
	Tenants     map[string]int   // by id: the most of tenants that may take more or fewer, or none
}

// Slots is how much an endpoint may take.
type Slots struct {
	Free int // how many deliveries to claim at most

	// Urgent lets one delivery pass that somebody asked for just now (Redeliver, Recover) although none are free:
	// the circuit is open because the endpoint failed, and whoever asks may know better.
	Urgent bool
}
