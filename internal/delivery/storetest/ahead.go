package storetest

import (
	"slices"
	"sync"
	"testing"
	"time"

	"contactbase/internal/delivery"
)

// claimNew claims due deliveries and those of new events.
func (f *fixture) claimNew(t *testing.T) []*delivery.Job {
	t.Helper()
	return f.claimSome(t, 10, true)
}

// claimEvents is claimNew, and expects one delivery of each of exactly these events.
func (f *fixture) claimEvents(t *testing.T, want ...string) []*delivery.Job {
	t.Helper()
	jobs := f.claimNew(t)
	var events []string
	for _, job := range jobs {
		events = append(events, job.EventID)
	}
	if !slices.Equal(slices.Sorted(slices.Values(events)), slices.Sorted(slices.Values(want))) {
		t.Fatalf("claimed of the events %v, want %v", events, want)
	}
	return jobs
}

// testNew sends events before their fan-out. Their deliveries are inserted with the results.
func testNew(t *testing.T, f *fixture) {
	tenant := f.AddTenant(t)
	webhook, disabled := f.AddWebhook(t, tenant, f.now), f.AddWebhook(t, tenant, f.now)
	f.SetDisabled(t, disabled, true, f.now)
	first, second, third := f.Emit(t, tenant, "contact1", f.now), f.Emit(t, tenant, "contact2", f.now), f.Emit(t, tenant, "", f.now)
	jobs := f.claimEvents(t, first, second, third)
	f.claimEvents(t)
	f.deliveries(t, first)
	if job := jobs[0]; job.Attempt != 1 || job.Endpoint.URL != URL || len(job.Payload) == 0 || !job.EventCreated.Equal(f.now) || !job.Created.Equal(f.now) {
		t.Errorf("the job is %+v", job)
	}
	f.now = f.now.Add(time.Second)
	f.complete(t, f.delivered(jobs[0]), f.retry(jobs[1], f.now.Add(time.Minute)), f.failed(jobs[2]))
	f.state(t, f.deliveries(t, first, webhook)[0], delivery.StatusDelivered, 1)
	if state := f.state(t, f.deliveries(t, second, webhook)[0], delivery.StatusPending, 1); !state.Next.Equal(f.now.Add(time.Minute)) || len(state.Log) != 1 {
		t.Errorf("what failed is stored as %+v", state)
	}
	if state := f.state(t, f.deliveries(t, third, webhook)[0], delivery.StatusFailed, 1); state.LastError != "timeout" || len(state.Log) != 1 {
		t.Errorf("what was given up is stored as %+v", state)
	}
	f.fanOut(t)
	f.claimEvents(t)
	f.now = f.now.Add(time.Minute)
	f.claimEvents(t, second)
}

// testNewOrder keeps the order of a contact.
func testNewOrder(t *testing.T, f *fixture) {
	tenant := f.AddTenant(t)
	webhook := f.AddWebhook(t, tenant, f.now)
	first, second, other := f.Emit(t, tenant, "contact1", f.now), f.Emit(t, tenant, "contact1", f.now), f.Emit(t, tenant, "contact2", f.now)
	f.claimEvents(t, first, other)
	clear(f.claims) // forgotten
	jobs := f.claimEvents(t, first, other)
	f.complete(t, f.delivered(jobs[1]))
	third := f.Emit(t, tenant, "contact1", f.now)
	f.claimEvents(t)
	f.deliveries(t, first, webhook)
	f.deliveries(t, second, webhook)
	f.deliveries(t, third)
}

// testNewShares gives two tenants half of a fetch each. What is beyond a tenant's share is left to a later one, and is not taken for an event that
// nobody wants.
func testNewShares(t *testing.T, f *fixture) {
	busy, other := f.AddTenant(t), f.AddTenant(t)
	f.AddWebhook(t, busy, f.now)
	f.AddWebhook(t, other, f.now)
	later := map[string]bool{f.Emit(t, busy, "", f.now): false, f.Emit(t, busy, "", f.now): false, f.Emit(t, busy, "", f.now): true, f.Emit(t, other, "", f.now): false}
	batch, err := f.store.Fetch(t.Context(), delivery.Fetch{Now: f.now, New: len(later)})
	if err != nil || len(batch.New) != len(later) {
		t.Fatalf("%d deliveries, %v", len(batch.New), err)
	}
	for _, n := range batch.New {
		if want := later[n.EventID]; n.Later != want || (n.Endpoint == nil) != want {
			t.Errorf("the event %s is left to a later fetch: %t, with the endpoint %v", n.EventID, n.Later, n.Endpoint)
		}
	}
}

// testNewFannedOut fans out events in flight: by this process, by another one, and to another webhook.
func testNewFannedOut(t *testing.T, f *fixture) {
	tenant := f.AddTenant(t)
	webhook := f.AddWebhook(t, tenant, f.now)
	another := &fixture{Backend: f.Backend, store: f.Store(t), now: f.now, claims: map[target]*delivery.Job{}}
	for name, fanOut := range map[string]func(*testing.T){"here": f.fanOut, "in a transaction": f.fanOutAll, "elsewhere": another.fanOut} {
		e := f.Emit(t, tenant, "contact1", f.now)
		job := f.claimEvents(t, e)[0]
		fanOut(t)
		id := f.deliveries(t, e, webhook)[0]
		f.state(t, id, delivery.StatusPending, 0)
		f.claimEvents(t)
		f.complete(t, f.delivered(job))
		if state := f.state(t, id, delivery.StatusDelivered, 1); len(state.Log) != 1 {
			t.Errorf("fanned out %s it has the attempts %v", name, state.Log)
		}
		f.claimEvents(t)
	}
	e := f.Emit(t, tenant, "contact1", f.now)
	f.claimEvents(t, e)
	f.fanOut(t)
	clear(f.claims) // forgotten
	f.claimOnly(t, f.deliveries(t, e, webhook)...)
}

// testNewDuringFanOut fans out events while they are claimed. They are sent once.
func testNewDuringFanOut(t *testing.T, f *fixture) {
	tenant := f.AddTenant(t)
	webhook := f.AddWebhook(t, tenant, f.now)
	for range 30 {
		event := f.Emit(t, tenant, "", f.now)
		var others sync.WaitGroup
		others.Go(func() {
			if _, err := f.store.FanOut(t.Context(), delivery.FanOut{Now: f.now}); err != nil {
				t.Errorf("fanning out: %v", err)
			}
		})
		job := f.claimNew(t)
		others.Wait()
		if len(job) == 0 { // it was fanned out after the fetch
			job = f.claimNew(t)
		}
		if len(job) != 1 {
			t.Fatalf("%d are claimed", len(job))
		}
		f.claimEvents(t)
		f.complete(t, f.delivered(job[0]))
		f.state(t, f.deliveries(t, event, webhook)[0], delivery.StatusDelivered, 1)
	}
}

// testNewReleasesNext commits a result together with the fan-out of the next event in its queue, which is due then.
func testNewReleasesNext(t *testing.T, f *fixture) {
	tenant := f.AddTenant(t)
	webhook := f.AddWebhook(t, tenant, f.now)
	first := f.Emit(t, tenant, "contact1", f.now)
	before := f.claimEvents(t, first)[0]
	f.fanOut(t)
	added := f.AddWebhook(t, tenant, f.now)
	second := f.Emit(t, tenant, "contact1", f.now)
	after := f.claimEvents(t, second)[0] // for the added endpoint, whose queue is empty
	f.complete(t, f.delivered(before), f.delivered(after))
	f.claimOnly(t, f.deliveries(t, second, webhook, added)[0])
}

// testNewAfterCrash sends again what was in flight in a process that crashed.
func testNewAfterCrash(t *testing.T, f *fixture) {
	tenant := f.AddTenant(t)
	webhook := f.AddWebhook(t, tenant, f.now)
	e := f.Emit(t, tenant, "contact1", f.now)
	f.claimEvents(t, e)
	f.crash(t)
	job := f.claimEvents(t, e)[0]
	f.fanOut(t)
	f.crash(t)
	f.claimOnly(t, f.deliveries(t, e, webhook)...)
	if id := f.deliveries(t, e, webhook)[0]; id != job.DeliveryID {
		t.Errorf("it was sent as %s and is stored as %s", job.DeliveryID, id)
	}
}

// testNewGone commits a 410 to a new event. Later events go to the other endpoint.
func testNewGone(t *testing.T, f *fixture) {
	tenant := f.AddTenant(t)
	webhook, other := f.AddWebhook(t, tenant, f.now), f.AddWebhook(t, tenant, f.now)
	first := f.Emit(t, tenant, "contact1", f.now)
	jobs := f.claimEvents(t, first, first)
	later := f.Emit(t, tenant, "contact2", f.now)
	gone := slices.IndexFunc(jobs, func(job *delivery.Job) bool { return job.Endpoint.WebhookID == webhook })
	f.complete(t, f.result(jobs[gone], delivery.Outcome{Status: 410}, delivery.Decision{Status: delivery.StatusFailed, Disable: "Gone."}))
	f.state(t, f.deliveries(t, first, webhook, other)[0], delivery.StatusFailed, 1)
	f.fanOut(t)
	f.deliveries(t, later, other)
	if disabled, _ := f.Disabled(t, webhook); !disabled {
		t.Error("the endpoint is not disabled")
	}
	f.complete(t, f.delivered(jobs[1-gone]))
	f.state(t, f.deliveries(t, first, webhook, other)[1], delivery.StatusDelivered, 1)
}

// testNewErased redacts an event in flight once it has arrived.
func testNewErased(t *testing.T, f *fixture) {
	tenant := f.AddTenant(t)
	f.AddWebhook(t, tenant, f.now)
	e := f.Emit(t, tenant, "contact1", f.now)
	job := f.claimEvents(t, e)[0]
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

// testNewAge: young events are not fanned out, unless they are many.
func testNewAge(t *testing.T, f *fixture) {
	tenant := f.AddTenant(t)
	webhook := f.AddWebhook(t, tenant, f.now)
	fanOut := func() {
		if _, err := f.store.FanOut(t.Context(), delivery.FanOut{Now: f.now, Age: time.Second}); err != nil {
			t.Fatal(err)
		}
	}
	e := f.Emit(t, tenant, "contact1", f.now)
	fanOut()
	f.deliveries(t, e)
	f.now = f.now.Add(time.Second)
	fanOut()
	f.deliveries(t, e, webhook)
	ahead := f.Emit(t, tenant, "contact1", f.now.Add(time.Hour))
	fanOut()
	f.deliveries(t, ahead, webhook)
}

// testNewBehindDue sends new events after due deliveries, and no more than the endpoint has slots.
func testNewBehindDue(t *testing.T, f *fixture) {
	tenant := f.AddTenant(t)
	webhook := f.AddWebhook(t, tenant, f.now)
	due := []string{f.AddEvent(t, tenant, "", f.now, webhook)[0], f.AddEvent(t, tenant, "", f.now, webhook)[0]}
	events := []string{f.Emit(t, tenant, "", f.now), f.Emit(t, tenant, "", f.now)}
	var jobs []*delivery.Job
	for range 4 {
		jobs = append(jobs, f.claimSome(t, 1, true)...)
	}
	if len(jobs) != 4 || jobs[0].DeliveryID != due[0] || jobs[1].DeliveryID != due[1] || jobs[2].EventID != events[0] || jobs[3].EventID != events[1] {
		t.Errorf("claimed %d jobs, not in order", len(jobs))
	}
}
