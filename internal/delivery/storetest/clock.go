package storetest

import (
	"context"
	"testing"
	"time"

	"contactbase/internal/delivery"
)

// ahead is how far the clock was ahead before it was set back.
const ahead = time.Hour

// setBack sets the clock back and reschedules.
func (f *fixture) setBack(t *testing.T) {
	t.Helper()
	f.now = f.now.Add(-ahead)
	f.reschedule(t)
}

func (f *fixture) reschedule(t *testing.T) {
	t.Helper()
	if err := f.store.Reschedule(context.Background(), f.now); err != nil {
		t.Fatalf("rescheduling: %v", err)
	}
}

func testSetBackDue(t *testing.T, f *fixture) {
	tenant := f.AddTenant(t)
	webhook := f.AddWebhook(t, tenant, f.now)
	due := f.AddEvent(t, tenant, "", f.now, webhook)[0]
	f.setBack(t)
	f.attemptOnce(t, due, f.delivered)
}

func testSetBackRetry(t *testing.T, f *fixture) {
	tenant := f.AddTenant(t)
	webhook := f.AddWebhook(t, tenant, f.now)
	long := f.AddEvent(t, tenant, "", f.now, webhook)[0]
	planned := f.now.Add(ahead + 3*time.Hour)
	f.attemptOnce(t, long, func(job *delivery.Job) delivery.Result { return f.retry(job, planned) })
	f.now = f.now.Add(ahead + time.Minute)
	short := f.AddEvent(t, tenant, "", f.now, webhook)[0]
	f.attemptOnce(t, short, func(job *delivery.Job) delivery.Result { return f.retry(job, f.now.Add(5*time.Minute)) })

	f.setBack(t)
	due := f.now.Add(5 * time.Minute)
	f.reschedule(t) // again, without effect
	f.now = due.Add(-time.Millisecond)
	f.claimOnly(t)
	f.now = due
	f.attemptOnce(t, short, f.delivered)
	if next := f.state(t, long, delivery.StatusPending, 1).Next; !next.Equal(planned) {
		t.Errorf("what was planned before the clock was ahead is due at %v, want %v", next, planned)
	}
}

func testSetBackOrder(t *testing.T, f *fixture) {
	tenant := f.AddTenant(t)
	webhook := f.AddWebhook(t, tenant, f.now)
	failing := f.AddEvent(t, tenant, "contact1", f.now, webhook)[0]
	retryAfter := 2 * time.Minute
	f.attemptOnce(t, failing, func(job *delivery.Job) delivery.Result { return f.retry(job, f.now.Add(retryAfter)) })
	f.setBack(t)
	start := f.now
	later := f.AddEvent(t, tenant, "contact1", start, webhook)[0]
	f.claimOnly(t) // it waits for the earlier one, whose first minute starts again
	f.now = start.Add(time.Minute)
	f.attemptOnce(t, later, f.delivered)
	f.now = start.Add(retryAfter)
	f.attemptOnce(t, failing, f.delivered)
}

// testSetBackQueue: one delivery waits for another that failed.
func testSetBackQueue(t *testing.T, f *fixture) {
	tenant := f.AddTenant(t)
	webhook := f.AddWebhook(t, tenant, f.now)
	failing := f.AddEvent(t, tenant, "contact1", f.now, webhook)[0]
	next := f.AddEvent(t, tenant, "contact1", f.now, webhook)[0]
	f.attemptOnce(t, failing, func(job *delivery.Job) delivery.Result { return f.retry(job, f.now.Add(2*time.Minute)) })
	f.reschedule(t) // the clock is right
	f.claimOnly(t)
	f.setBack(t)
	f.claimOnly(t)
	f.now = f.now.Add(time.Minute)
	f.attemptOnce(t, next, f.delivered)
}
