package storetest

import (
	"slices"
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
	f.complete(t, f.result(job, delivery.Outcome{Status: 410}, delivery.Decision{Status: delivery.StatusFailed, Disable: "Gone."}))
	f.state(t, id, delivery.StatusFailed, 1)
	if disabled, reason := f.Disabled(t, webhook); !disabled || reason != "Gone." {
		t.Errorf("disabled: %v, reason %q", disabled, reason)
	}
	if disabled, _ := f.Disabled(t, other); disabled {
		t.Error("another endpoint was disabled")
	}
}

// deadAfter is for how long every attempt has to fail.
const deadAfter = 72 * time.Hour

func testDead(t *testing.T, f *fixture) {
	tenant := f.AddTenant(t)
	start := f.now
	webhook := f.AddWebhook(t, tenant, start)
	first := f.AddEvent(t, tenant, "", start, webhook)[0]
	f.attemptOnce(t, first, func(job *delivery.Job) delivery.Result { return f.retry(job, start.Add(deadAfter-time.Hour)) })

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

func testLimits(t *testing.T, f *fixture) {
	tenant := f.AddTenant(t)
	full, some, other := f.AddWebhook(t, tenant, f.now), f.AddWebhook(t, tenant, f.now), f.AddWebhook(t, tenant, f.now)
	for range 6 {
		f.AddEvent(t, tenant, "", f.now, full, some, other)
	}
	options := f.options()
	options.PerEndpoint = 3
	options.Slots = map[string]delivery.Slots{full: {}, some: {Free: 5}}
	got := byWebhook(f.claimWith(t, f.store, options))
	if got[full] != 0 || got[some] != 5 || got[other] != 3 {
		t.Errorf("claimed %v of the endpoint without free slots, %v of 5, %v of 3", got[full], got[some], got[other])
	}
	options.Slots = nil
	options.Limit = 2
	if jobs := f.claimWith(t, f.store, options); len(jobs) != 2 {
		t.Errorf("claimed %d of 2", len(jobs))
	}
}

func testTenantLimits(t *testing.T, f *fixture) {
	limited, free, empty := f.AddTenant(t), f.AddTenant(t), f.AddTenant(t)
	webhooks := map[string]string{}
	for _, tenant := range []string{limited, free, empty} {
		for range 4 {
			webhook := f.AddWebhook(t, tenant, f.now)
			webhooks[webhook] = tenant
			for range 3 {
				f.AddEvent(t, tenant, "", f.now, webhook)
			}
		}
	}
	options := f.options()
	options.PerTenant = 5
	options.Tenants = map[string]int{limited: 2, empty: 0}
	claimed := map[string]int{}
	for webhook, n := range byWebhook(f.claimWith(t, f.store, options)) {
		claimed[webhooks[webhook]] += n
	}
	if claimed[limited] != 2 || claimed[free] != 5 || claimed[empty] != 0 {
		t.Errorf("claimed %d of 2, %d of 5 and %d of none", claimed[limited], claimed[free], claimed[empty])
	}
}

func testUrgent(t *testing.T, f *fixture) {
	tenant := f.AddTenant(t)
	webhook := f.AddWebhook(t, tenant, f.now)
	f.AddEvent(t, tenant, "", f.now, webhook)
	asked := f.AddEvent(t, tenant, "", f.now, webhook)[0]
	open := f.options()
	open.Slots = map[string]delivery.Slots{webhook: {Urgent: true}}
	expect(t, f.claimWith(t, f.store, open))

	f.ask(t, asked, f.now)
	busy := f.options()
	busy.Slots = map[string]delivery.Slots{webhook: {}}
	expect(t, f.claimWith(t, f.store, busy))
	expect(t, f.claimWith(t, f.store, open), asked)
}

func byWebhook(jobs []*delivery.Job) map[string]int {
	n := map[string]int{}
	for _, job := range jobs {
		n[job.Endpoint.WebhookID]++
	}
	return n
}

func testFairTenants(t *testing.T, f *fixture) {
	large, small := f.AddTenant(t), f.AddTenant(t)
	var webhooks []string
	for range 20 {
		webhooks = append(webhooks, f.AddWebhook(t, large, f.now))
	}
	for range 10 {
		f.AddEvent(t, large, "", f.now, webhooks...)
	}
	one := f.AddWebhook(t, small, f.now)
	for range 10 {
		f.AddEvent(t, small, "", f.now, one)
	}
	options := f.options()
	options.Limit = 10
	jobs := f.claimWith(t, f.store, options)
	if got := byWebhook(jobs)[one]; len(jobs) != 10 || got != 5 {
		t.Errorf("the tenant with one endpoint got %d of %d, want 5 of 10", got, len(jobs))
	}
}

func testTurns(t *testing.T, f *fixture) {
	tenant := f.AddTenant(t)
	const n = 7
	var webhooks []string
	for range n {
		webhooks = append(webhooks, f.AddWebhook(t, tenant, f.now))
	}
	for range 3 {
		f.AddEvent(t, tenant, "", f.now, webhooks...)
	}
	options := f.options()
	options.Limit = 1
	for range 3 {
		var served []string
		for range n {
			jobs := f.claimWith(t, f.store, options)
			if len(jobs) != 1 {
				t.Fatalf("claimed %d of 1", len(jobs))
			}
			served = append(served, jobs[0].Endpoint.WebhookID)
		}
		slices.Sort(served)
		if len(slices.Compact(served)) != n {
			t.Errorf("in a round of %d, only %d endpoints had a turn", n, len(slices.Compact(served)))
		}
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
	options := f.options()
	options.Limit = 1
	for _, want := range []string{early, middle, late} {
		expect(t, f.claimWith(t, f.store, options), want)
	}
}
