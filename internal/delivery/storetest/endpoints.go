package storetest

import (
	"testing"
	"time"

	"contactbase/internal/delivery"
)

func testPaused(t *testing.T, f *fixture) {
	tenant := f.AddTenant(t)
	webhook := f.AddWebhook(t, tenant, f.now)
	id := f.AddEvent(t, tenant, "", f.now, webhook)[0]

	f.SetDisabled(t, webhook, true, f.now)
	f.claimOnly(t)
	if next := f.nextDue(t); !next.IsZero() {
		t.Errorf("of a disabled endpoint something is due at %v", next)
	}
	f.SetDisabled(t, webhook, false, f.now)
	f.SetFeature(t, tenant, false)
	f.claimOnly(t)
	f.SetFeature(t, tenant, true)
	f.attemptOnce(t, id, f.delivered)
}

func testGone(t *testing.T, f *fixture) {
	tenant := f.AddTenant(t)
	webhook, other := f.AddWebhook(t, tenant, f.now), f.AddWebhook(t, tenant, f.now)
	id := f.AddEvent(t, tenant, "", f.now, webhook)[0]
	job := f.claimOnly(t, id)[0]
	f.complete(t, f.result(job, delivery.Outcome{Status: 410},
		delivery.Decision{Status: delivery.StatusFailed, Disable: "Gone."}))
	f.state(t, id, delivery.StatusFailed, 1)
	if disabled, reason := f.Disabled(t, webhook); !disabled || reason != "Gone." {
		t.Errorf("disabled: %v, reason %q", disabled, reason)
	}
	if disabled, _ := f.Disabled(t, other); disabled {
		t.Error("another endpoint was disabled")
	}
}

// deadAfter is how long every attempt has to fail.
const deadAfter = 72 * time.Hour

func testDead(t *testing.T, f *fixture) {
	tenant := f.AddTenant(t)
	start := f.now
	webhook := f.AddWebhook(t, tenant, start)
	first := f.AddEvent(t, tenant, "", start, webhook)[0]
	f.attemptOnce(t, first, func(job *delivery.Job) delivery.Result {
		return f.retry(job, start.Add(deadAfter-time.Hour))
	})

	f.now = start.Add(deadAfter - time.Hour)
	f.attemptOnce(t, first, func(job *delivery.Job) delivery.Result { return f.retry(job, start.Add(deadAfter)) })
	if disabled, _ := f.Disabled(t, webhook); disabled {
		t.Fatal("disabled an hour early")
	}
	f.now = start.Add(deadAfter)
	f.attemptOnce(t, first, f.failed)
	if disabled, reason := f.Disabled(t, webhook); !disabled || reason == "" {
		t.Errorf("disabled: %v, reason %q", disabled, reason)
	}
}

func testPausedIsNotDead(t *testing.T, f *fixture) {
	tenant := f.AddTenant(t)
	start := f.now
	webhook := f.AddWebhook(t, tenant, start)
	waiting := f.AddEvent(t, tenant, "", start, webhook)[0]
	f.SetFeature(t, tenant, false)
	f.now = start.Add(2 * deadAfter)
	f.SetFeature(t, tenant, true)
	f.attemptOnce(t, waiting, f.failed) // the first attempt ever
	if disabled, _ := f.Disabled(t, webhook); disabled {
		t.Error("waiting counted as failing")
	}

	again := f.AddWebhook(t, tenant, start)
	old := f.AddEvent(t, tenant, "", start, again)[0]
	f.now = start
	f.attemptOnce(t, old, f.failed)
	f.SetDisabled(t, again, true, start)
	f.now = start.Add(2 * deadAfter)
	f.SetDisabled(t, again, false, f.now)
	f.attemptOnce(t, f.AddEvent(t, tenant, "", f.now, again)[0], f.failed)
	if disabled, _ := f.Disabled(t, again); disabled {
		t.Error("what failed before somebody enabled it again counted")
	}
}

func testSuccessIsNotDead(t *testing.T, f *fixture) {
	tenant := f.AddTenant(t)
	start := f.now
	webhook := f.AddWebhook(t, tenant, start)
	f.attemptOnce(t, f.AddEvent(t, tenant, "", start, webhook)[0], f.failed)
	f.now = start.Add(time.Hour)
	f.attemptOnce(t, f.AddEvent(t, tenant, "", f.now, webhook)[0], f.delivered)

	// another process knows of the success from the store alone
	f.store = f.Store(t)
	f.now = start.Add(deadAfter)
	f.attemptOnce(t, f.AddEvent(t, tenant, "", f.now, webhook)[0], f.failed)
	if disabled, _ := f.Disabled(t, webhook); disabled {
		t.Error("disabled in spite of a success 71 hours ago")
	}
	f.now = start.Add(time.Hour + deadAfter + time.Minute)
	f.attemptOnce(t, f.AddEvent(t, tenant, "", f.now, webhook)[0], f.failed)
	if disabled, _ := f.Disabled(t, webhook); !disabled {
		t.Error("not disabled 3 days after the last success")
	}
}

func testDueOrder(t *testing.T, f *fixture) {
	tenant := f.AddTenant(t)
	webhook := f.AddWebhook(t, tenant, f.now)
	late := f.AddEvent(t, tenant, "", f.now, webhook)[0]
	f.attemptOnce(t, late, func(job *delivery.Job) delivery.Result { return f.retry(job, f.now.Add(3*time.Second)) })
	early := f.AddEvent(t, tenant, "", f.now.Add(time.Second), webhook)[0]
	middle := f.AddEvent(t, tenant, "", f.now.Add(2*time.Second), webhook)[0]
	f.now = f.now.Add(time.Minute)
	for _, want := range []string{early, middle, late} {
		expect(t, f.claimSome(t, 1), want)
	}
}
