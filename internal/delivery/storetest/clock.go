package storetest

import (
	"context"
	"testing"
	"time"

	"contactbase/internal/delivery"
)

// ahead is by how much the clock was ahead before it was set back.
const ahead = time.Hour

// setBack sets the clock back and tells the queue.
func (f *fixture) setBack(t *testing.T, held ...*delivery.Job) {
	t.Helper()
	f.now = f.now.Add(-ahead)
	f.tellSetBack(t, held...)
}

func (f *fixture) tellSetBack(t *testing.T, held ...*delivery.Job) {
	t.Helper()
	if err := f.store.SetBack(context.Background(), f.now, held); err != nil {
		t.Fatalf("setting back the clock: %v", err)
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
	f.tellSetBack(t) // once more has no effect
	f.now = due.Add(-time.Millisecond)
	f.claimOnly(t)
	f.now = due
	f.attemptOnce(t, short, f.delivered)
	if next := f.state(t, long, delivery.StatusPending, 1).Next; !next.Equal(planned) {
		t.Errorf("what was planned before the clock was ahead is due at %v, want %v", next, planned)
	}
}

func testSetBackLease(t *testing.T, f *fixture) {
	tenant := f.AddTenant(t)
	webhook := f.AddWebhook(t, tenant, f.now)
	lost := f.AddEvent(t, tenant, "", f.now, webhook)[0]
	f.claimOnly(t, lost) // by a process that dies
	held := f.AddEvent(t, tenant, "", f.now, webhook)[0]
	job := f.claimOnly(t, held)[0]
	f.setBack(t, job)
	f.attemptOnce(t, lost, f.delivered)
	f.complete(t, f.delivered(job))
	f.state(t, held, delivery.StatusDelivered, 1)

	recent := f.AddEvent(t, tenant, "", f.now, webhook)[0]
	f.claimOnly(t, recent)
	f.now = f.now.Add(-10 * time.Second)
	f.tellSetBack(t)
	f.claimOnly(t) // the clock went back by so little that the claim may be good
	f.now = f.now.Add(10*time.Second + lease)
	f.claimOnly(t, recent)
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
	f.claimOnly(t) // it waits for the one before, whose first minute begins anew
	f.now = start.Add(time.Minute)
	f.attemptOnce(t, later, f.delivered)
	f.now = start.Add(retryAfter)
	f.attemptOnce(t, failing, f.delivered)
}

// testSetBackLine lets one delivery wait for another that failed.
func testSetBackLine(t *testing.T, f *fixture) {
	tenant := f.AddTenant(t)
	webhook := f.AddWebhook(t, tenant, f.now)
	failing := f.AddEvent(t, tenant, "contact1", f.now, webhook)[0]
	next := f.AddEvent(t, tenant, "contact1", f.now, webhook)[0]
	f.attemptOnce(t, failing, func(job *delivery.Job) delivery.Result { return f.retry(job, f.now.Add(2*time.Minute)) })
	f.tellSetBack(t) // without need
	f.claimOnly(t)
	f.setBack(t)
	f.claimOnly(t)
	f.now = f.now.Add(time.Minute)
	f.attemptOnce(t, next, f.delivered)
}
