package storetest

import (
	"testing"
	"time"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/delivery"
	"contactbase/internal/delivery/store"
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

// testResultOfNothing commits results whose deliveries were deleted during the attempt: with the webhook's, or with
// their event.
func testResultOfNothing(t *testing.T, f *fixture) {
	tenant := f.AddTenant(t)
	webhook, other := f.AddWebhook(t, tenant, f.now), f.AddWebhook(t, tenant, f.now)
	first, second := f.Emit(t, tenant, "contact1", f.now), f.Emit(t, tenant, "contact2", f.now)
	f.fanOut(t)
	kept := f.deliveries(t, first, webhook, other)[1]
	var results []delivery.Result
	for _, job := range f.claim(t) {
		results = append(results, f.delivered(job))
	}
	if len(results) != 4 {
		t.Fatalf("claimed %d deliveries", len(results))
	}
	f.DeleteWebhook(t, webhook)
	if err := f.Transact(func(tx core.App) error {
		_, err := store.DeleteDeliveries(tx, webhook, 10)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	f.DeleteEvents(t, second)
	f.complete(t, results...)
	f.state(t, f.deliveries(t, first, other)[0], delivery.StatusDelivered, 1)
	f.deliveries(t, second)
	if n := f.Attempts(t); n != 1 || len(f.State(t, kept).Log) != 1 {
		t.Errorf("%d attempts are stored, not that of %s alone", n, kept)
	}
}

// testErasedInFlight redacts an event in flight once it has arrived.
func testErasedInFlight(t *testing.T, f *fixture) {
	tenant := f.AddTenant(t)
	f.AddWebhook(t, tenant, f.now)
	e := f.Emit(t, tenant, "contact1", f.now)
	f.fanOut(t)
	job := f.claim(t)[0]
	f.DeleteContact(t, "contact1")
	f.erase(t, "contact1")
	if f.Erased(t, e) {
		t.Fatal("erased before it has arrived")
	}
	f.complete(t, f.delivered(job))
	if !f.Erased(t, e) {
		t.Error("it is not erased")
	}
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
