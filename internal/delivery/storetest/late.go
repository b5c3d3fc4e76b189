package storetest

import (
	"testing"
	"time"

	"contactbase/internal/delivery"
)

func testLateResult(t *testing.T, f *fixture) {
	tenant := f.AddTenant(t)
	webhook := f.AddWebhook(t, tenant, f.now)
	id := f.AddEvent(t, tenant, "contact1", f.now, webhook)[0]
	later := f.AddEvent(t, tenant, "contact1", f.now, webhook)[0]
	job := f.claimOnly(t, id)[0]
	f.now = f.now.Add(time.Hour)
	f.claimOnly(t)
	f.ask(t, id, f.now)
	f.claimOnly(t) // it is in flight already
	next := f.now.Add(time.Second)
	f.complete(t, f.retry(job, next))
	f.state(t, id, delivery.StatusPending, 1)
	f.now = next.Add(time.Hour)
	again := f.claim(t)
	expect(t, again, id, later)
	f.complete(t, f.delivered(job)) // of the earlier claim
	f.state(t, id, delivery.StatusPending, 1)
	f.claimOnly(t)
	f.complete(t, f.delivered(again[0]), f.delivered(again[1]))
	f.state(t, id, delivery.StatusDelivered, 2)
}

func testCrash(t *testing.T, f *fixture) {
	tenant := f.AddTenant(t)
	webhook := f.AddWebhook(t, tenant, f.now)
	id := f.AddEvent(t, tenant, "", f.now, webhook)[0]
	f.claimOnly(t, id)
	f.crash(t)
	f.claimOnly(t, id)
}

// A redelivery comes in front of a delivery in flight. The latter fails, and is retried nevertheless.
func testOvertaken(t *testing.T, f *fixture) {
	tenant := f.AddTenant(t)
	webhook := f.AddWebhook(t, tenant, f.now)
	first := f.AddEvent(t, tenant, "contact1", f.now, webhook)[0]
	f.attemptOnce(t, first, f.failed)
	second := f.AddEvent(t, tenant, "contact1", f.now, webhook)[0]
	flying := f.claimOnly(t, second)[0]
	f.ask(t, first, f.now)
	f.complete(t, f.retry(flying, f.now.Add(time.Second)))
	f.now = f.now.Add(time.Second)
	for _, job := range f.claim(t) {
		f.complete(t, f.delivered(job))
	}
	f.state(t, first, delivery.StatusDelivered, 1)
	f.state(t, second, delivery.StatusDelivered, 2)
}
