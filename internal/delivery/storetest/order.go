package storetest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"contactbase/internal/delivery"
)

func testOrder(t *testing.T, f *fixture) {
	tenant := f.AddTenant(t)
	webhook := f.AddWebhook(t, tenant, f.now)
	var ids []string
	for range 3 {
		ids = append(ids, f.AddEvent(t, tenant, "contact1", f.now, webhook)...)
	}
	first := f.claimOnly(t, ids[0])[0] // the others were never attempted, and wait for it and for each other
	f.claimOnly(t)
	f.complete(t, f.delivered(first))
	second := f.claimOnly(t, ids[1])[0]
	f.complete(t, f.failed(second)) // a failed delivery is over, too
	f.attemptOnce(t, ids[2], f.delivered)
}

func testOrderOfFailing(t *testing.T, f *fixture) {
	tenant := f.AddTenant(t)
	webhook := f.AddWebhook(t, tenant, f.now)
	start := f.now
	failing := f.AddEvent(t, tenant, "contact1", start, webhook)[0]
	held := f.AddEvent(t, tenant, "contact1", start.Add(time.Second), webhook)[0]
	retryAt := start.Add(2 * time.Minute)
	f.attemptOnce(t, failing, func(job *delivery.Job) delivery.Result { return f.retry(job, retryAt) })

	f.now = start.Add(time.Minute - time.Millisecond)
	f.claimOnly(t)
	f.now = start.Add(time.Minute)
	f.attemptOnce(t, held, f.delivered)

	// its first minute is over, but the next one waits while it is in flight
	f.now = retryAt
	again := f.claimOnly(t, failing)[0]
	last := f.AddEvent(t, tenant, "contact1", f.now, webhook)[0]
	f.claimOnly(t)
	f.complete(t, f.retry(again, f.now.Add(time.Hour)))
	f.claimOnly(t, last)
}

// testOrderAfterRetry: a failing delivery ends in its first minute.
func testOrderAfterRetry(t *testing.T, f *fixture) {
	tenant := f.AddTenant(t)
	webhook := f.AddWebhook(t, tenant, f.now)
	failing := f.AddEvent(t, tenant, "contact1", f.now, webhook)[0]
	next := f.AddEvent(t, tenant, "contact1", f.now, webhook)[0]
	f.attemptOnce(t, failing, func(job *delivery.Job) delivery.Result { return f.retry(job, f.now.Add(5*time.Second)) })
	f.now = f.now.Add(5 * time.Second)
	f.attemptOnce(t, failing, f.delivered)
	f.claimOnly(t, next)
}

// testOrderOfRedelivered redelivers.
func testOrderOfRedelivered(t *testing.T, f *fixture) {
	tenant := f.AddTenant(t)
	webhook := f.AddWebhook(t, tenant, f.now)
	var ids []string
	for range 3 {
		ids = append(ids, f.AddEvent(t, tenant, "contact1", f.now, webhook)[0])
	}
	for _, id := range ids[:2] {
		f.attemptOnce(t, id, f.delivered)
	}
	f.ask(t, ids[0], f.now)
	f.ask(t, ids[1], f.now) // waits for the one before it, which starts again
	for _, id := range ids {
		f.attemptOnce(t, id, f.delivered)
	}
}

func testOrderScope(t *testing.T, f *fixture) {
	tenant := f.AddTenant(t)
	webhook, other := f.AddWebhook(t, tenant, f.now), f.AddWebhook(t, tenant, f.now)
	first := f.AddEvent(t, tenant, "contact1", f.now, webhook)[0]
	f.claimOnly(t, first)
	second := f.AddEvent(t, tenant, "contact1", f.now, webhook, other)
	else1 := f.AddEvent(t, tenant, "contact2", f.now, webhook)[0]
	about := []string{f.AddEvent(t, tenant, "", f.now, webhook)[0], f.AddEvent(t, tenant, "", f.now, webhook)[0]}
	// second[0] waits, since only it has the same contact and endpoint
	f.claimOnly(t, second[1], else1, about[0], about[1])
}

// testManyOfOne: one contact has more events than a fetch reads.
func testManyOfOne(t *testing.T, f *fixture) {
	tenant := f.AddTenant(t)
	webhook := f.AddWebhook(t, tenant, f.now)
	const n = 450
	var busy []string
	for range n {
		busy = append(busy, f.AddEvent(t, tenant, "busy", f.now, webhook)...)
	}
	other := f.AddEvent(t, tenant, "other", f.now, webhook)[0]

	jobs := f.claimOnly(t, busy[0], other)
	head := jobs[slices.IndexFunc(jobs, func(job *delivery.Job) bool { return job.DeliveryID == busy[0] })]

	// the busy contact's deliveries go out in order, one after the other, without waiting
	f.complete(t, f.delivered(head))
	got := []string{head.DeliveryID}
	for range 100 {
		f.now = f.now.Add(time.Millisecond)
		jobs := f.claim(t)
		if len(jobs) != 1 {
			t.Fatalf("after %d deliveries, a claim got %d jobs", len(got), len(jobs))
		}
		got = append(got, jobs[0].DeliveryID)
		f.complete(t, f.delivered(jobs[0]))
	}
	if want := busy[:len(got)]; !slices.Equal(got, want) {
		t.Errorf("the order was broken: %s", firstDifference(got, want))
	}
}

func firstDifference(got, want []string) string {
	for i := range got {
		if got[i] != want[i] {
			return fmt.Sprintf("number %d is %s, want %s", i, got[i], want[i])
		}
	}
	return "none"
}
