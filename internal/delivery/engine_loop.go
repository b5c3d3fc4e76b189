package delivery

import (
	"context"
	"time"
)

const (
	pollInterval = time.Second          // finds what other processes made due
	flushDelay   = 5 * time.Millisecond // how long a result waits for others
	flushSize    = 100                  // results that are stored at once, without waiting
	errorPause   = time.Second          // after the database refused something
	claimSize    = 256                  // deliveries that are claimed at once: leasing more would hold up who else writes

	// placeAge is how old an event becomes before it is placed without a result. Most receivers have answered by then, also those of
	// a busy machine, so that its deliveries are written once: whoever falls behind would fall further behind by writing them twice.
	placeAge = 250 * time.Millisecond

	// minClaimPause keeps a burst of changes from becoming a burst of claims. A claim that takes long and finds little,
	// because many endpoints have something pending, takes no more than a third of the time.
	minClaimPause = 2 * time.Millisecond
	claimShare    = 2
	littleClaimed = 32
)

// loop places, claims, hands out and stores until ctx ends.
func (e *Engine) loop(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	e.due = true
	for {
		e.pulse.beat()
		timer.Reset(e.pass(ctx))
		select {
		case <-ctx.Done():
			return
		case <-e.wake:
			e.due = true
		case <-e.arrived:
		case <-timer.C:
		}
	}
}

// pass does what has to be done now and returns how long nothing has to be done after it.
func (e *Engine) pass(ctx context.Context) time.Duration {
	now := time.Now()
	if at, some := e.flushTime(); some && !now.Before(at) {
		if err := e.flush(ctx); err != nil {
			e.app.Logger().Error("storing the results of deliveries", "error", err)
			e.flushFrom = now.Add(errorPause)
			e.claimFrom = e.flushFrom // what cannot be stored must not pile up
		}
		e.due = true // endpoints have free slots, and deliveries that waited for earlier ones may go
	}
	if !now.Before(e.poll) {
		e.due = true
	}
	if e.due && !now.Before(e.claimFrom) {
		e.claimPass(ctx, now)
	}
	next := e.poll
	if e.due {
		next = e.claimFrom
	}
	if at, some := e.flushTime(); some && at.Before(next) {
		next = at
	}
	return time.Until(next)
}

// claimPass places and claims, and plans when to do so next.
func (e *Engine) claimPass(ctx context.Context, started time.Time) {
	now := e.options.Now()
	more := e.place(ctx, now)
	claimed, full, err := e.claim(ctx, now)
	ended := time.Now()
	e.poll = ended.Add(pollInterval)
	if err != nil {
		e.app.Logger().Error("claiming deliveries", "error", err)
		e.due, e.claimFrom = false, ended.Add(errorPause)
		return
	}
	e.due = full || more
	e.claimFrom = ended.Add(minClaimPause)
	if claimed < littleClaimed && !more {
		e.claimFrom = ended.Add(max(minClaimPause, claimShare*ended.Sub(started)))
	}
	if e.inFlight() == 0 { // else what ends calls for the next claim; and a poll late is early enough
		e.poll = ended.Add(min(pollInterval, e.idleTime(ctx, now)))
	}
}

// place places some of what happened, and tells whether there is more. What is due goes out even where that fails.
func (e *Engine) place(ctx context.Context, now time.Time) (more bool) {
	if time.Now().Before(e.placeFrom) {
		return false
	}
	age := time.Duration(0)
	if e.release != nil {
		age = placeAge
	}
	more, err := e.store.Place(ctx, now, age)
	if err != nil {
		e.app.Logger().Error("placing deliveries", "error", err)
		e.placeFrom = time.Now().Add(errorPause)
	}
	return more
}

// idleTime returns how long after now nothing becomes due and no open circuit becomes half-open.
func (e *Engine) idleTime(ctx context.Context, now time.Time) time.Duration {
	idle := pollInterval
	if next, err := e.store.NextDue(ctx, now); err == nil && !next.IsZero() {
		idle = min(idle, next.Sub(e.options.Now()))
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, l := range e.lanes {
		if left := l.openFor(now); left > 0 {
			idle = min(idle, left)
		}
	}
	return idle
}

// inFlight returns how many attempts there are.
func (e *Engine) inFlight() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.flights)
}

// flushTime returns when the results there are have to be stored.
func (e *Engine) flushTime() (at time.Time, some bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case len(e.results) == 0 && len(e.returned) == 0:
		return time.Time{}, false
	case len(e.results) >= flushSize, len(e.flights) == 0 && e.waiting == 0:
		return e.flushFrom, true
	default:
		at = e.since.Add(flushDelay)
		if at.Before(e.flushFrom) {
			at = e.flushFrom
		}
		return at, true
	}
}

// flush stores all results and gives back claims.
func (e *Engine) flush(ctx context.Context) error {
	e.mu.Lock()
	results, returned := e.results, e.returned
	e.results, e.returned = nil, nil
	e.mu.Unlock()
	if err := e.store.Complete(ctx, results, e.options.Now()); err != nil {
		e.mu.Lock()
		e.results, e.returned = append(results, e.results...), append(returned, e.returned...)
		e.mu.Unlock()
		return err
	}
	if err := e.store.Release(ctx, returned); err != nil {
		e.app.Logger().Warn("giving back claimed deliveries; they come back by themselves", "error", err)
	}
	return nil
}

// claim claims what there are slots for, hands it to the lanes, and returns how much it was. full tells whether it was
// cut off by the limit, so that more may be due.
func (e *Engine) claim(ctx context.Context, now time.Time) (claimed int, full bool, err error) {
	if err := e.watchClock(ctx, now); err != nil {
		return 0, false, err
	}
	options := ClaimOptions{
		Now: now, Lease: Lease, Exclusive: e.release != nil, Unplaced: e.release != nil,
		PerEndpoint: min(firstSlots, e.options.PerEndpoint), Slots: map[string]Slots{},
	}
	e.mu.Lock()
	options.Limit = min(claimSize, e.room())
	options.PerTenant, options.Tenants = e.tenantRoom()
	for id, l := range e.lanes {
		options.Slots[id] = l.slots(now)
	}
	e.mu.Unlock()
	if options.Limit <= 0 {
		return 0, false, nil
	}
	jobs, err := e.store.Claim(ctx, options)
	if err != nil {
		return 0, false, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, job := range jobs {
		e.enter(job, now)
	}
	e.sweep(now)
	return len(jobs), len(jobs) == options.Limit, nil
}

// room returns how many deliveries may be claimed. e.mu is held.
func (e *Engine) room() int { return e.options.MaxInFlight - len(e.flights) - e.waiting }

// tenantRoom returns how many deliveries may be claimed of a tenant that has nothing in flight, and of each that has. A
// tenant takes no more than half of what the others leave, so that no number of endpoints that hang leaves nothing to
// anybody else. Only who has hundreds of them notices. e.mu is held.
func (e *Engine) tenantRoom() (others int, byTenant map[string]int) {
	held := map[string]int{}
	for job := range e.flights {
		held[job.Endpoint.TenantID]++
	}
	for _, l := range e.lanes {
		for _, job := range l.waiting {
			held[job.Endpoint.TenantID]++
		}
	}
	left := e.room()
	for tenant, n := range held {
		held[tenant] = (left+n)/2 - n
	}
	return max(1, left/2), held
}

// sweep forgets lanes that say nothing, once in a while.
func (e *Engine) sweep(now time.Time) {
	if now.Sub(e.swept) < maxOpen {
		return
	}
	e.swept = now
	for id, l := range e.lanes {
		if l.idle(now) {
			delete(e.lanes, id)
		}
	}
}
