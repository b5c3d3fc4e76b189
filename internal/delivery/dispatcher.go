package delivery

import (
	"time"
)

const (
	tickInterval = time.Second          // finds what other processes made due
	commitDelay  = 5 * time.Millisecond // how long a result waits for others
	commitSize   = 100                  // results that are committed without waiting
	errorPause   = time.Second          // after an error of the database
	fetchShare   = 2                    // the pause between two fetches is as many times as long as the fetch
	fetchDue     = 256                  // due deliveries that are read at once
	// extra due deliveries to read for an endpoint, because claims of their contacts can hide some
	fetchHidden = 16
	pollPause   = 50 * time.Millisecond // at least, between two polls
	pollShare   = 20                    // polling takes at most one in so many parts of the time
	fanOutShare = 1                     // the pause between two fan-outs is as many times as long as the fan-out

	// maxQueued is how long a claim waits for a slot before it is forgotten: what is known of its endpoint becomes
	// stale.
	maxQueued = 5 * time.Second

	// singleAfter is after how many refused commits in a row results are committed one at a time, so that one that the
	// database never takes holds up no other.
	singleAfter = 3
)

// instant is a point in time, by two clocks. Deliveries are due by the system's clock, which can be set. The dispatcher
// paces itself by a clock that only moves forward.
type instant struct {
	now     time.Time
	elapsed time.Duration
}

// claim is a delivery that the dispatcher has taken. It is queued until its attempt starts, then in flight, then
// answered; it ends when its result is committed. A queued claim can be forgotten without any trace.
type claim struct {
	job     *Job
	claimed time.Time
	started time.Time // zero while it is queued
}

// dispatcher decides which deliveries to attempt and which operation the store performs. It does no I/O, has no clock
// and no locks: the engine calls it from one goroutine and does what it says. At most one operation of next is under
// way at a time; its outcome comes back in polled, fetched, fannedOut or committed.
type dispatcher struct {
	options Options

	claims   map[string]*claim    // by delivery
	contacts map[contactQueue]int // claims by contact and webhook
	tenants  map[string]int       // claims by tenant
	limiters map[string]*limiter  // by webhook
	inFlight int
	results  []Result      // answered, not yet committed
	since    time.Duration // when the first of them came

	agenda map[string]Due  // by webhook
	drain  map[string]bool // tenants that are to be drained
	fair   fairQueue       // of due deliveries

	// the operation under way
	asked      map[string]int // fetch: due deliveries, by webhook
	granted    map[string]int // fetch: how many of those may be claimed
	forgot     bool           // fetch: a claim was forgotten meanwhile, so that there is more than was found
	committing Commit

	pacing
	stopping bool
}

// pacing says what to do next, and not before when.
type pacing struct {
	fetchWanted, pollWanted, fanOutWanted     bool
	fetchNext                                 bool // before the next commit, so that claims do not run out during it
	fetchFrom, pollFrom, fanOutFrom, commitAt time.Duration
	tick                                      time.Duration
	wakeAt                                    time.Time // when something becomes due
	refused                                   int       // commits in a row
	failure                                   error     // of the last commit
}

// contactQueue is the deliveries of a contact to a webhook, which go out in order.
type contactQueue struct{ webhook, contact string }

// The operations of next beside Fetch and Commit.
type (
	poll   struct{}
	fanOut struct{}
)

func newDispatcher(options Options) *dispatcher {
	return &dispatcher{
		options:  options,
		claims:   map[string]*claim{},
		contacts: map[contactQueue]int{},
		tenants:  map[string]int{},
		limiters: map[string]*limiter{},
		agenda:   map[string]Due{},
		drain:    map[string]bool{},
	}
}

// wake makes the dispatcher look for work.
func (d *dispatcher) wake() { d.fetchWanted, d.pollWanted, d.fanOutWanted = true, true, true }

// stop lets the attempts in flight end and starts no more.
func (d *dispatcher) stop() {
	d.stopping, d.failure, d.commitAt = true, nil, 0
	for _, l := range d.limiters {
		d.forgetQueued(l)
	}
}

// stopped reports whether nothing is left to do after stop, or the last commit failed. Without sending, attempts in
// flight have no results.
func (d *dispatcher) stopped(sending bool) bool {
	return d.stopping && (d.failure != nil || len(d.results) == 0 && (d.inFlight == 0 || !sending))
}

// next returns the operation to start now: a Fetch, a Commit, poll{} or fanOut{}. It is nil if there is nothing to do
// until wait is over.
func (d *dispatcher) next(t instant) (operation any, wait time.Duration) {
	if t.elapsed >= d.tick {
		d.tick = t.elapsed + tickInterval
		d.sweep(t.now)
		d.wake()
	}
	if !d.wakeAt.IsZero() && !t.now.Before(d.wakeAt) {
		d.wakeAt, d.fetchWanted = time.Time{}, true
	}
	fetchFirst := d.fetchNext && d.fetchWanted && t.elapsed >= d.fetchFrom && !d.stopping
	if at, some := d.commitTime(); some && t.elapsed >= at && !fetchFirst {
		return d.commit(t.now), 0
	}
	if d.stopping {
		return nil, tickInterval
	}
	if operation = d.work(t); operation != nil {
		return operation, 0
	}
	return nil, d.idleTime(t)
}

// work returns what to do now beside commits. A poll waits for fetches and fan-outs, but not for long: they might never
// end.
func (d *dispatcher) work(t instant) any {
	if d.pollWanted && t.elapsed >= d.pollFrom+pollPause {
		d.pollWanted = false
		return poll{}
	}
	if d.fetchWanted && t.elapsed >= d.fetchFrom {
		d.fetchWanted, d.fetchNext = false, false
		if fetch, some := d.fetch(t.now); some {
			return fetch
		}
	}
	if d.fanOutWanted && t.elapsed >= d.fanOutFrom {
		d.fanOutWanted = false
		return fanOut{}
	}
	if d.pollWanted && t.elapsed >= d.pollFrom {
		d.pollWanted = false
		return poll{}
	}
	return nil
}

// idleTime returns how long next has nothing to do, unless something happens.
func (d *dispatcher) idleTime(t instant) time.Duration {
	next := d.tick
	if at, some := d.commitTime(); some {
		next = min(next, at)
	}
	if d.fetchWanted {
		next = min(next, d.fetchFrom)
	}
	if d.pollWanted {
		next = min(next, d.pollFrom)
	}
	if d.fanOutWanted {
		next = min(next, d.fanOutFrom)
	}
	idle := next - t.elapsed
	if !d.wakeAt.IsZero() {
		idle = min(idle, d.wakeAt.Sub(t.now))
	}
	return max(0, idle)
}

// commitTime returns when to commit next.
func (d *dispatcher) commitTime() (at time.Duration, some bool) {
	switch {
	case len(d.results) == 0:
		return d.commitAt, len(d.drained()) > 0
	case d.stopping, len(d.results) >= commitSize, len(d.results) == len(d.claims):
		return d.commitAt, true
	default:
		return max(d.commitAt, d.since+commitDelay), true
	}
}

// drained returns the tenants to be drained that have no claims.
func (d *dispatcher) drained() (tenants []string) {
	for tenant := range d.drain {
		if d.tenants[tenant] == 0 {
			tenants = append(tenants, tenant)
		}
	}
	return tenants
}

func (d *dispatcher) commit(now time.Time) Commit {
	n := min(len(d.results), commitSize)
	if d.refused >= singleAfter {
		n = min(n, 1)
	}
	d.committing = Commit{Now: now, Results: d.results[:n:n], Drained: d.drained()}
	d.results = d.results[n:]
	return d.committing
}

// committed ends the claims of committed results. Results that the database refused are committed again later.
func (d *dispatcher) committed(t instant, ready []Ready, err error) {
	results := d.committing.Results
	if d.failure = err; err != nil {
		d.refused++
		d.results = append(d.results, results...)
		d.commitAt = t.elapsed + errorPause
		d.fetchFrom = d.commitAt // results that cannot be stored must not pile up
		return
	}
	d.refused, d.since = 0, t.elapsed
	for _, result := range results {
		d.end(d.claims[result.Job.DeliveryID])
		if result.Decision.Status == StatusPending {
			endpoint := result.Job.Endpoint
			d.putOnAgenda(Due{Webhook: endpoint.WebhookID, Tenant: endpoint.TenantID, At: result.Decision.Next})
		}
	}
	for _, tenant := range d.committing.Drained {
		delete(d.drain, tenant)
	}
	d.spread(t.now, ready)
	d.schedule(t.now)
	d.fetchWanted = d.fetchWanted || d.someDue(t.now)
	d.fetchNext = d.fetchWanted
}

// spread puts endpoints with new deliveries on the agenda.
func (d *dispatcher) spread(now time.Time, ready []Ready) {
	for _, r := range ready {
		d.putOnAgenda(Due{Webhook: r.Webhook, Tenant: r.Tenant, At: now})
		d.fetchWanted = true
	}
}

// fannedOut notes what was fanned out. took is how long that took.
func (d *dispatcher) fannedOut(t instant, out FannedOut, took time.Duration, err error) {
	d.fanOutFrom = t.elapsed + fanOutShare*took
	d.fanOutWanted = d.fanOutWanted || out.More
	if err != nil {
		d.fanOutFrom, d.fanOutWanted = t.elapsed+errorPause, true
	}
	d.spread(t.now, out.Pending)
}

// polled replaces the agenda. took is how long polling took.
func (d *dispatcher) polled(t instant, agenda Agenda, took time.Duration, err error) {
	if err != nil {
		d.pollFrom, d.pollWanted = t.elapsed+errorPause, true
		return
	}
	d.pollFrom = t.elapsed + max(pollPause, pollShare*took)
	clear(d.agenda)
	for _, due := range agenda.Due {
		d.agenda[due.Webhook] = due
	}
	for webhook, l := range d.limiters {
		if d.agenda[webhook].Webhook == "" { // it was deleted or disabled, and what waits for a slot is not to be sent
			d.forgetQueued(l)
			delete(d.agenda, webhook)
		}
	}
	clear(d.drain)
	for _, tenant := range agenda.Drain {
		d.drain[tenant] = true
	}
	d.fetchWanted = true
}

// someDue reports whether an endpoint has a delivery that is due.
func (d *dispatcher) someDue(now time.Time) bool {
	for _, due := range d.agenda {
		if !due.At.After(now) {
			return true
		}
	}
	return false
}

// putOnAgenda puts an endpoint on the agenda, unless it is due sooner already.
func (d *dispatcher) putOnAgenda(due Due) {
	if known, found := d.agenda[due.Webhook]; !found || due.At.Before(known.At) {
		d.agenda[due.Webhook] = due
	}
}
