package delivery

import (
	"context"
	"time"
)

// Queue is where the engine gets its work from. SQLiteQueue is the one that is shipped; queuetest.Run holds any other
// to the same behaviour.
//
// A claim is a lease: it ends by itself, so that the deliveries of a process that died come back without anybody
// noticing its death. Every write that follows a claim is fenced by it: what a former holder reports has no effect.
type Queue interface {
	// Claim leases due deliveries, at most options.Limit, fairly over tenants and endpoints, and returns them
	// with all that an attempt needs. No two claims hold the same delivery. The first attempt of a delivery waits for the
	// one before it of the same contact and webhook, until that is over; but once that was attempted and is not in flight,
	// no longer than a minute from when it was made.
	Claim(ctx context.Context, options ClaimOptions) ([]*Job, error)

	// Complete stores the results of attempts and ends their claims, all of them or none.
	Complete(ctx context.Context, results []Result, now time.Time) error

	// Release ends claims without an attempt; the deliveries are due again at once.
	Release(ctx context.Context, jobs []*Job) error

	// ReleaseAll ends every claim. Only who knows that nobody else is sending may call it.
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
	Lease       time.Duration    // how long the claims last
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
