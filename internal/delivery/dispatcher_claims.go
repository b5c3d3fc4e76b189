package delivery

import (
	"math/bits"
	"time"

	"contactbase/internal/event"
)

// fetch returns what to read for the slots that are free.
func (d *dispatcher) fetch(now time.Time) (Fetch, bool) {
	capacity := d.capacity()
	var contenders []contender
	for webhook, entry := range d.agenda {
		if !entry.At.After(now) {
			contenders = append(contenders, contender{webhook, entry.Tenant, d.slots(webhook, now, entry.At.IsZero())})
		}
	}
	d.granted = d.fair.grant(contenders, min(fetchDue, capacity), d.tenantCapacity())
	d.asked = make(map[string]int, len(d.granted))
	for webhook, n := range d.granted {
		if l := d.limiters[webhook]; l != nil {
			n += min(l.claims, fetchHidden)
		}
		d.asked[webhook] = roundUp(n)
	}
	d.forgot = false
	return Fetch{Now: now, Limits: d.asked, Claimed: d.claimedOf(d.asked)}, len(d.asked) > 0
}

// roundUp rounds up, because endpoints with the same number share a query.
func roundUp(n int) int {
	if n > 16 {
		return (n + 15) / 16 * 16
	}
	return 1 << bits.Len(uint(n-1))
}

// claimedOf returns the claimed deliveries of webhooks.
func (d *dispatcher) claimedOf(webhooks map[string]int) []string {
	ids := []string{}
	for id, c := range d.claims {
		if _, some := webhooks[c.job.Endpoint.WebhookID]; some {
			ids = append(ids, id)
		}
	}
	return ids
}

// fetched claims the deliveries of a fetch that are free, and returns what to attempt now. took is how long the fetch
// took.
func (d *dispatcher) fetched(t instant, jobs []*Job, took time.Duration, err error) (start []*Job) {
	d.fetchFrom = t.elapsed + fetchShare*took
	if err != nil {
		d.fetchFrom, d.fetchWanted = t.elapsed+errorPause, true
		return nil
	}
	if d.stopping {
		return nil
	}
	touched := map[string]bool{}
	d.claimDue(t.now, jobs, touched)
	for webhook := range touched {
		start = append(start, d.start(t.now, d.limiters[webhook])...)
	}
	d.schedule(t.now)
	return start
}

// claimDue claims due deliveries, as many as were granted, and strikes endpoints off the agenda that have no more of
// them.
func (d *dispatcher) claimDue(now time.Time, jobs []*Job, touched map[string]bool) {
	found, left := map[string]int{}, map[string]bool{}
	for _, job := range jobs {
		webhook := job.Endpoint.WebhookID
		found[webhook]++
		switch {
		case !d.free(job):
		case d.granted[webhook] > 0 && d.slots(webhook, now, d.agenda[webhook].At.IsZero()) > 0:
			d.granted[webhook]--
			d.claim(now, job)
			touched[webhook] = true
			d.fetchWanted = true // until nothing more is found
		default:
			left[webhook] = true
		}
	}
	for webhook, n := range d.asked {
		if found[webhook] < n && !left[webhook] && !d.forgot {
			delete(d.agenda, webhook)
		}
	}
}

// free reports whether the delivery can be claimed. A first attempt waits for claims of its contact.
func (d *dispatcher) free(job *Job) bool {
	if d.claims[job.DeliveryID] != nil {
		return false
	}
	return job.Attempt > 1 || job.ContactID == "" || d.contacts[contactQueue{job.Endpoint.WebhookID, job.ContactID}] == 0
}

// claim claims a free delivery.
func (d *dispatcher) claim(now time.Time, job *Job) {
	webhook := job.Endpoint.WebhookID
	l := d.limiters[webhook]
	if l == nil {
		l = &limiter{limit: min(firstSlots, d.options.PerEndpoint)}
		d.limiters[webhook] = l
	}
	c := &claim{job: job, claimed: now}
	d.claims[job.DeliveryID] = c
	d.contacts[contactQueue{webhook, job.ContactID}]++
	d.tenants[job.Endpoint.TenantID]++
	l.claims++
	l.used = now
	l.takeRate(job.Endpoint.MaxPerSecond, now)
	l.queued = append(l.queued, c)
}

// end ends a claim: its result is committed, or it is forgotten.
func (d *dispatcher) end(c *claim) {
	webhook := c.job.Endpoint.WebhookID
	delete(d.claims, c.job.DeliveryID)
	d.limiters[webhook].claims--
	queue := contactQueue{webhook, c.job.ContactID}
	decrement(d.contacts, queue)
	decrement(d.tenants, c.job.Endpoint.TenantID)
}

// decrement decrements a counter and deletes it at zero.
func decrement[K comparable](counts map[K]int, k K) {
	if counts[k]--; counts[k] == 0 {
		delete(counts, k)
	}
}

// forget ends a claim without an attempt. Its delivery is fetched again.
func (d *dispatcher) forget(c *claim) {
	d.end(c)
	d.forgot = true
	d.putOnAgenda(Due{Webhook: c.job.Endpoint.WebhookID, Tenant: c.job.Endpoint.TenantID, At: c.claimed})
}

func (d *dispatcher) forgetQueued(l *limiter) {
	for _, c := range l.queued {
		d.forget(c)
	}
	l.queued = nil
}

// start returns the jobs that the endpoint has slots for.
func (d *dispatcher) start(now time.Time, l *limiter) (start []*Job) {
	for l.active < l.limit && len(l.queued) > 0 {
		c := l.queued[0]
		l.queued = l.queued[1:]
		if now.Sub(c.claimed) > maxQueued {
			d.forget(c)
			continue
		}
		c.started, l.used = now, now
		l.active++
		d.inFlight++
		start = append(start, c.job)
	}
	return start
}

// answered records an attempt, and returns its result and what to attempt now.
func (d *dispatcher) answered(t instant, job *Job, attempt *Attempt) (result Result, start []*Job) {
	l, c := d.limiters[job.Endpoint.WebhookID], d.claims[job.DeliveryID]
	l.active--
	d.inFlight--
	l.note(attempt.Outcome, c.started, t.now, d.options.PerEndpoint, d.options.Policy.MaxRetryAfter)
	if l.failures > 0 {
		d.forgetQueued(l) // they would only fail, too
		d.schedule(t.now)
	}
	if len(d.results) == 0 {
		d.since = t.elapsed
	}
	result = Result{Job: job, Attempt: attempt, Decision: d.decide(job, attempt.Outcome, t.now)}
	d.results = append(d.results, result)
	return result, d.start(t.now, l)
}

// decide applies the retry policy. A ping is never retried.
func (d *dispatcher) decide(job *Job, outcome Outcome, now time.Time) Decision {
	policy := d.options.Policy
	if job.EventType == string(event.WebhookPing) {
		policy.Delays = nil
	}
	return policy.Next(job.Attempt, outcome, now, d.options.Random())
}

// schedule sets when to fetch next: when a delivery is due, a circuit half-open, or the rate of a webhook allows the
// next attempt.
func (d *dispatcher) schedule(now time.Time) {
	d.wakeAt = time.Time{}
	for webhook, due := range d.agenda {
		at := due.At
		if l := d.limiters[webhook]; l != nil {
			if wait := l.wait(now); wait > 0 && now.Add(wait).After(at) {
				at = now.Add(wait)
			}
		}
		if at.After(now) && (d.wakeAt.IsZero() || at.Before(d.wakeAt)) {
			d.wakeAt = at
		}
	}
}

// slots returns how many deliveries may be claimed for an endpoint.
func (d *dispatcher) slots(webhook string, now time.Time, urgent bool) int {
	if l := d.limiters[webhook]; l != nil {
		return l.slots(now, urgent)
	}
	return min(firstSlots, d.options.PerEndpoint)
}

// capacity returns how many deliveries may be claimed.
func (d *dispatcher) capacity() int { return d.options.MaxInFlight - len(d.claims) }

// tenantCapacity returns how many deliveries may be claimed of a tenant: at most half of what the others leave. However
// many endpoints hang, others get slots. Only a tenant with hundreds of endpoints notices.
func (d *dispatcher) tenantCapacity() func(tenant string) int {
	left := d.capacity()
	return func(tenant string) int {
		if n := d.tenants[tenant]; n > 0 {
			return (left+n)/2 - n
		}
		return max(1, left/2)
	}
}

// sweep forgets idle limiters.
func (d *dispatcher) sweep(now time.Time) {
	for webhook, l := range d.limiters {
		if l.idle(now) {
			delete(d.limiters, webhook)
		}
	}
}
