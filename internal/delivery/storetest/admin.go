package storetest

import (
	"database/sql"
	"errors"
	"testing"
	"time"

	"contactbase/internal/delivery"
	"contactbase/internal/event"
)

func testRecover(t *testing.T, f *fixture) {
	tenant := f.AddTenant(t)
	webhook := f.AddWebhook(t, tenant, f.now)
	failed := f.AddEvent(t, tenant, "contact1", f.now, webhook)[0]
	f.attemptOnce(t, failed, f.failed)
	f.AddEvent(t, tenant, "contact1", f.now) // while the webhook was disabled
	f.AddEvent(t, tenant, "contact1", f.now)

	since := f.now.Add(-time.Hour)
	for range 2 {
		f.recover(t, webhook, since, true, 3)
	}
	f.claimOnly(t)
	f.recover(t, webhook, since, false, 3)
	f.recover(t, webhook, since, false, 0)
	f.recover(t, webhook, f.now.Add(time.Hour), false, 0)
	f.now = f.now.Add(time.Second)
	f.attemptOnce(t, failed, f.delivered)
	for range 2 { // one after the other
		jobs := f.claim(t)
		if len(jobs) != 1 {
			t.Fatalf("claimed %d jobs of a contact", len(jobs))
		}
		f.complete(t, f.delivered(jobs[0]))
	}
	f.claimOnly(t)
	if _, err := f.store.Recover(
		t.Context(), "nothing", delivery.Recovery{Since: since, DryRun: true},
	); !errors.Is(err, sql.ErrNoRows) {
		t.Errorf("unknown: got %v", err)
	}
}

func (f *fixture) recover(t *testing.T, webhook string, since time.Time, dryRun bool, want int) {
	t.Helper()
	missed, err := f.store.Recover(t.Context(), webhook, delivery.Recovery{Since: since, DryRun: dryRun})
	if missed.Count != want || missed.Count != missed.Failed+missed.Missed || err != nil {
		t.Fatalf("recovered %+v, %v; want %d", missed, err, want)
	}
}

// On request, recovery makes waiting retries due, in the order of the events and with their numbers of attempts.
func testRecoverPending(t *testing.T, f *fixture) {
	tenant := f.AddTenant(t)
	webhook, other := f.AddWebhook(t, tenant, f.now), f.AddWebhook(t, tenant, f.now)
	since := f.now.Add(-time.Hour)
	var waiting []string
	for range 2 {
		ids := f.AddEvent(t, tenant, "contact1", f.now, webhook, other)
		for _, job := range f.claimOnly(t, ids...) {
			f.complete(t, f.retry(job, f.now.Add(24*time.Hour)))
		}
		waiting = append(waiting, ids[0])
		f.now = f.now.Add(time.Minute)
	}
	f.recover(t, webhook, since, false, 0)
	f.claimOnly(t)
	if missed, err := f.store.Recover(t.Context(), webhook, delivery.Recovery{Since: since}); err != nil ||
		missed.Pending != len(waiting) || missed.PendingRetried != nil {
		t.Fatalf("recovered %+v, %v", missed, err)
	}
	for _, recovery := range []delivery.Recovery{
		{Since: since, RetryPending: true, DryRun: true}, {Since: since, RetryPending: true},
	} {
		missed, err := f.store.Recover(t.Context(), webhook, recovery)
		if err != nil || missed.Count != 0 || missed.PendingRetried == nil || *missed.PendingRetried != len(waiting) {
			t.Fatalf("recovered %+v, %v", missed, err)
		}
		if recovery.DryRun {
			f.claimOnly(t)
		}
	}
	for i, job := range f.claimOnly(t, waiting...) {
		if job.DeliveryID != waiting[i] || job.Attempt != 2 {
			t.Errorf("number %d is attempt %d of %s", i, job.Attempt, job.DeliveryID)
		}
	}
}

// By default recovery ignores events that are older than the webhook. Its summary has the number of events, their
// types, and the first and last time.
func testRecoverEarlier(t *testing.T, f *fixture) {
	tenant := f.AddTenant(t)
	since := f.now.Add(-time.Hour)
	f.AddEvent(t, tenant, "contact1", f.now.Add(-time.Minute))
	webhook := f.AddWebhook(t, tenant, f.now)
	f.AddEvent(t, tenant, "contact1", f.now)
	f.AddEvent(t, tenant, "contact1", f.now.Add(time.Minute))
	for before, want := range map[bool]int{false: 2, true: 3} {
		missed, err := f.store.Recover(t.Context(), webhook, delivery.Recovery{Since: since, Before: before, DryRun: true})
		if err != nil || missed.Count != want || missed.Types["contact.updated"] != want || len(missed.Types) != 1 {
			t.Errorf("with earlier ones, %t: missed are %+v (%v)", before, missed, err)
		}
		oldest := f.now.Add(map[bool]time.Duration{true: -time.Minute}[before]).Truncate(time.Millisecond)
		if newest := f.now.Add(time.Minute).Truncate(time.Millisecond); !missed.Oldest.Equal(oldest) ||
			!missed.Newest.Equal(newest) {
			t.Errorf("with earlier ones, %t: they are from %s to %s", before, missed.Oldest, missed.Newest)
		}
	}
	f.recover(t, webhook, since, false, 2)
	f.recover(t, webhook, since, false, 0)
	if missed, err := f.store.Recover(t.Context(), webhook, delivery.Recovery{Since: since, Before: true}); err != nil ||
		missed.Count != 1 {
		t.Errorf("of the earlier ones %+v are recovered (%v)", missed, err)
	}
}

func testRedeliver(t *testing.T, f *fixture) {
	tenant := f.AddTenant(t)
	webhook := f.AddWebhook(t, tenant, f.now)
	id := f.AddEvent(t, tenant, "contact1", f.now, webhook)[0]
	for range 2 {
		f.attemptOnce(t, id, f.delivered)
		queued, err := f.store.Redeliver(id, f.now)
		if err != nil || queued.ID != id || queued.Status != delivery.StatusPending ||
			queued.Attempts != 0 || !queued.NextAttempt.Equal(f.now) {
			t.Fatalf("got %+v, %v", queued, err)
		}
	}
	if _, err := f.store.Redeliver("nothing", f.now); !errors.Is(err, sql.ErrNoRows) {
		t.Errorf("unknown: got %v", err)
	}
}

func testPing(t *testing.T, f *fixture) {
	tenant := f.AddTenant(t)
	webhook := f.AddWebhook(t, tenant, f.now)
	f.SetDisabled(t, webhook, true, f.now)
	job := f.ping(t, webhook, f.failed)
	if job.EventType != string(event.WebhookPing) || job.Attempt != 1 ||
		job.ContactID != "" || job.Endpoint.WebhookID != webhook {
		t.Errorf("got %+v", job)
	}
	f.SetDisabled(t, webhook, false, f.now)
	f.claimOnly(t)
	if state := f.state(t, job.DeliveryID, delivery.StatusFailed, 1); len(state.Log) != 1 {
		t.Errorf("its attempts are %+v", state.Log)
	}
	if err := f.store.Ping("nothing", f.now, nil); !errors.Is(err, sql.ErrNoRows) {
		t.Errorf("unknown: got %v", err)
	}
}

// testPingGone stores nothing of a ping whose webhook was deleted before the endpoint answered.
func testPingGone(t *testing.T, f *fixture) {
	webhook := f.AddWebhook(t, f.AddTenant(t), f.now)
	job := f.ping(t, webhook, func(job *delivery.Job) delivery.Result {
		f.DeleteWebhook(t, webhook)
		return f.delivered(job)
	})
	if found := f.DeliveriesOf(t, job.EventID); len(found) != 0 {
		t.Errorf("it has the deliveries %v", found)
	}
}

// testPingDisables disables an endpoint that answers 410. What waits for fan-out is not for it.
func testPingDisables(t *testing.T, f *fixture) {
	tenant := f.AddTenant(t)
	webhook := f.AddWebhook(t, tenant, f.now)
	before := f.Emit(t, tenant, "", f.now)
	f.ping(t, webhook, func(job *delivery.Job) delivery.Result {
		return f.result(job, delivery.Outcome{Status: 410},
			delivery.Decision{Status: delivery.StatusFailed, Disable: "Gone."})
	})
	f.fanOut(t)
	f.deliveries(t, before)
	if disabled, _ := f.Disabled(t, webhook); !disabled {
		t.Error("the endpoint is not disabled")
	}
}

// ping pings the webhook, whose endpoint answers with result, and returns the job.
func (f *fixture) ping(t *testing.T, webhook string, result func(*delivery.Job) delivery.Result) *delivery.Job {
	t.Helper()
	var sent *delivery.Job
	err := f.store.Ping(webhook, f.now, func(job *delivery.Job) delivery.Result {
		sent = job
		return result(job)
	})
	if err != nil {
		t.Fatalf("pinging: %v", err)
	}
	return sent
}

func testPrune(t *testing.T, f *fixture) {
	tenant := f.AddTenant(t)
	webhook := f.AddWebhook(t, tenant, f.now)
	old := f.AddEvent(t, tenant, "contact1", f.now, webhook)[0]
	f.attemptOnce(t, old, f.delivered)
	pending := f.AddEvent(t, tenant, "contact1", f.now, webhook)[0]
	cut := f.now.Add(time.Hour)
	f.now = cut
	young := f.AddEvent(t, tenant, "contact2", f.now, webhook)[0]
	if n, err := f.store.Prune(t.Context(), cut); n != 1 || err != nil {
		t.Errorf("pruned %d, %v", n, err)
	}
	f.claimOnly(t, pending, young)
	if _, err := f.store.Redeliver(old, f.now); !errors.Is(err, sql.ErrNoRows) {
		t.Errorf("what was pruned: got %v", err)
	}
}

func testBacklog(t *testing.T, f *fixture) {
	tenant := f.AddTenant(t)
	webhook, disabled, enabled := f.AddWebhook(t, tenant, f.now),
		f.AddWebhook(t, tenant, f.now), f.AddWebhook(t, tenant, f.now)
	f.SetDisabled(t, disabled, true, f.now)
	expect := func(want delivery.Backlog) {
		t.Helper()
		got, err := f.store.Backlog(t.Context())
		if err != nil || got.Pending != want.Pending || got.FanOut != want.FanOut || !got.Oldest.Equal(want.Oldest) ||
			got.Disabled != want.Disabled || !got.OldestFanOut.Equal(want.OldestFanOut) {
			t.Errorf("got %+v, %v; want %+v", got, err, want)
		}
	}
	expect(delivery.Backlog{Disabled: 1})
	waiting := f.Emit(t, tenant, "", f.now.Add(-time.Minute))
	f.Emit(t, tenant, "", f.now)
	expect(delivery.Backlog{
		FanOut: 2, Oldest: f.now.Add(-time.Minute), OldestFanOut: f.now.Add(-time.Minute), Disabled: 1,
	})
	f.fanOut(t)
	expect(delivery.Backlog{Pending: 4, Oldest: f.now.Add(-time.Minute), Disabled: 1})
	for _, job := range f.claim(t) {
		f.complete(t, f.delivered(job))
	}
	f.deliveries(t, waiting, webhook, enabled)
	expect(delivery.Backlog{Disabled: 1})
	first := f.AddEvent(t, tenant, "", f.now, webhook)[0]
	f.AddEvent(t, tenant, "", f.now.Add(time.Minute), webhook, disabled)
	expect(delivery.Backlog{Pending: 3, Oldest: f.now, Disabled: 1})
	f.attemptOnce(t, first, f.delivered)
	expect(delivery.Backlog{Pending: 2, Oldest: f.now.Add(time.Minute), Disabled: 1})
}
