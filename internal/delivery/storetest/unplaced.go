package storetest

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/delivery"
)

// claimUnplaced claims what is due and what new events are for.
func (f *fixture) claimUnplaced(t *testing.T) []*delivery.Job {
	t.Helper()
	return f.claimSome(t, 10, true)
}

// claimEvents is claimUnplaced where it claims a delivery of exactly these events, one of each.
func (f *fixture) claimEvents(t *testing.T, want ...string) []*delivery.Job {
	t.Helper()
	jobs := f.claimUnplaced(t)
	var events []string
	for _, job := range jobs {
		events = append(events, job.EventID)
	}
	if !slices.Equal(slices.Sorted(slices.Values(events)), slices.Sorted(slices.Values(want))) {
		t.Fatalf("claimed of the events %v, want %v", events, want)
	}
	return jobs
}

// testUnplaced sends events that have no deliveries, which are written with their results.
func testUnplaced(t *testing.T, f *fixture) {
	tenant := f.AddTenant(t)
	webhook, disabled := f.AddWebhook(t, tenant, f.now), f.AddWebhook(t, tenant, f.now)
	f.SetDisabled(t, disabled, true, f.now)
	first, second, third := f.Emit(t, tenant, "contact1", f.now), f.Emit(t, tenant, "contact2", f.now), f.Emit(t, tenant, "", f.now)
	jobs := f.claimEvents(t, first, second, third)
	f.claimEvents(t)
	f.placed(t, first)
	if job := jobs[0]; job.Attempt != 1 || job.Endpoint.URL != URL || len(job.Payload) == 0 || !job.EventCreated.Equal(f.now) || !job.Created.Equal(f.now) {
		t.Errorf("the job is %+v", job)
	}
	f.now = f.now.Add(time.Second)
	f.complete(t, f.delivered(jobs[0]), f.retry(jobs[1], f.now.Add(time.Minute)), f.failed(jobs[2]))
	f.state(t, f.placed(t, first, webhook)[0], delivery.StatusDelivered, 1)
	if state := f.state(t, f.placed(t, second, webhook)[0], delivery.StatusPending, 1); !state.Next.Equal(f.now.Add(time.Minute)) || len(state.Log) != 1 {
		t.Errorf("what failed is stored as %+v", state)
	}
	if state := f.state(t, f.placed(t, third, webhook)[0], delivery.StatusFailed, 1); state.LastError != "timeout" || len(state.Log) != 1 {
		t.Errorf("what was given up is stored as %+v", state)
	}
	f.place(t)
	f.claimEvents(t)
	f.now = f.now.Add(time.Minute)
	f.claimEvents(t, second)
}

// testUnplacedOrder keeps the order of a contact.
func testUnplacedOrder(t *testing.T, f *fixture) {
	tenant := f.AddTenant(t)
	webhook := f.AddWebhook(t, tenant, f.now)
	first, second, other := f.Emit(t, tenant, "contact1", f.now), f.Emit(t, tenant, "contact1", f.now), f.Emit(t, tenant, "contact2", f.now)
	f.claimEvents(t, first, other)
	clear(f.claims) // forgotten
	jobs := f.claimEvents(t, first, other)
	f.complete(t, f.delivered(jobs[1]))
	third := f.Emit(t, tenant, "contact1", f.now)
	f.claimEvents(t)
	f.placed(t, first, webhook)
	f.placed(t, second, webhook)
	f.placed(t, third)
}

// testUnplacedIsPlaced places events that are in flight: by this process, by another one, and for somebody else.
func testUnplacedIsPlaced(t *testing.T, f *fixture) {
	tenant := f.AddTenant(t)
	webhook := f.AddWebhook(t, tenant, f.now)
	another := &fixture{Backend: f.Backend, store: f.Store(t), now: f.now, claims: map[target]*delivery.Job{}}
	for name, place := range map[string]func(*testing.T){"here": f.place, "in a transaction": f.placeAll, "elsewhere": another.place} {
		e := f.Emit(t, tenant, "contact1", f.now)
		job := f.claimEvents(t, e)[0]
		place(t)
		id := f.placed(t, e, webhook)[0]
		f.state(t, id, delivery.StatusPending, 0)
		f.claimEvents(t)
		f.complete(t, f.delivered(job))
		if state := f.state(t, id, delivery.StatusDelivered, 1); len(state.Log) != 1 {
			t.Errorf("placed %s it has the attempts %v", name, state.Log)
		}
		f.claimEvents(t)
	}
	e := f.Emit(t, tenant, "contact1", f.now)
	f.claimEvents(t, e)
	f.place(t)
	clear(f.claims) // forgotten
	f.claimOnly(t, f.placed(t, e, webhook)...)
}

// testUnplacedAtOnce places events while they are claimed. They are sent once.
func testUnplacedAtOnce(t *testing.T, f *fixture) {
	tenant := f.AddTenant(t)
	webhook := f.AddWebhook(t, tenant, f.now)
	for range 30 {
		event := f.Emit(t, tenant, "", f.now)
		var placing sync.WaitGroup
		placing.Go(func() {
			if _, err := f.store.FanOutOld(t.Context(), f.now, 0); err != nil {
				t.Errorf("fanning out: %v", err)
			}
		})
		job := f.claimUnplaced(t)
		placing.Wait()
		if len(job) == 0 { // it was placed after the claim had read what is
			job = f.claimUnplaced(t)
		}
		if len(job) != 1 {
			t.Fatalf("%d are claimed", len(job))
		}
		f.claimEvents(t)
		f.complete(t, f.delivered(job[0]))
		f.state(t, f.placed(t, event, webhook)[0], delivery.StatusDelivered, 1)
	}
}

// testUnplacedFollows stores a result together with the placing of what is behind it in the line, which is free then.
func testUnplacedFollows(t *testing.T, f *fixture) {
	tenant := f.AddTenant(t)
	webhook := f.AddWebhook(t, tenant, f.now)
	first := f.Emit(t, tenant, "contact1", f.now)
	before := f.claimEvents(t, first)[0]
	f.place(t)
	added := f.AddWebhook(t, tenant, f.now)
	second := f.Emit(t, tenant, "contact1", f.now)
	after := f.claimEvents(t, second)[0] // for the added endpoint, which has nothing in front of it
	f.complete(t, f.delivered(before), f.delivered(after))
	f.claimOnly(t, f.placed(t, second, webhook, added)[0])
}

// testUnplacedAfterDeath sends what was in flight in a process that died again.
func testUnplacedAfterDeath(t *testing.T, f *fixture) {
	tenant := f.AddTenant(t)
	webhook := f.AddWebhook(t, tenant, f.now)
	e := f.Emit(t, tenant, "contact1", f.now)
	f.claimEvents(t, e)
	f.crash(t)
	job := f.claimEvents(t, e)[0]
	f.place(t)
	f.crash(t)
	f.claimOnly(t, f.placed(t, e, webhook)...)
	if id := f.placed(t, e, webhook)[0]; id != job.DeliveryID {
		t.Errorf("it was sent as %s and is stored as %s", job.DeliveryID, id)
	}
}

// testUnplacedGone places what happened before an endpoint was disabled, and stores the result by which it is.
func testUnplacedGone(t *testing.T, f *fixture) {
	tenant := f.AddTenant(t)
	webhook, other := f.AddWebhook(t, tenant, f.now), f.AddWebhook(t, tenant, f.now)
	first := f.Emit(t, tenant, "contact1", f.now)
	jobs := f.claimEvents(t, first, first)
	later := f.Emit(t, tenant, "contact2", f.now)
	gone := slices.IndexFunc(jobs, func(job *delivery.Job) bool { return job.Endpoint.WebhookID == webhook })
	f.complete(t, f.result(jobs[gone], delivery.Outcome{Status: 410}, delivery.Decision{Status: delivery.StatusFailed, Disable: "Gone."}))
	f.state(t, f.placed(t, first, webhook, other)[0], delivery.StatusFailed, 1)
	f.placed(t, later, webhook, other)
	if disabled, _ := f.Disabled(t, webhook); !disabled {
		t.Error("the endpoint is not disabled")
	}
	f.complete(t, f.delivered(jobs[1-gone]))
	f.state(t, f.placed(t, first, webhook, other)[1], delivery.StatusDelivered, 1)
}

// testUnplacedErased erases what is in flight when it has arrived.
func testUnplacedErased(t *testing.T, f *fixture) {
	tenant := f.AddTenant(t)
	f.AddWebhook(t, tenant, f.now)
	e := f.Emit(t, tenant, "contact1", f.now)
	job := f.claimEvents(t, e)[0]
	f.DeleteContact(t, "contact1")
	err := f.Transact(func(tx core.App) error {
		_, _, err := f.store.EraseContact(tx, "contact1", 0, 100)
		return err
	})
	if err != nil || f.Erased(t, e) {
		t.Fatalf("erased before it has arrived: %v, %v", f.Erased(t, e), err)
	}
	f.complete(t, f.delivered(job))
	if !f.Erased(t, e) {
		t.Error("it is not erased")
	}
}

// testUnplacedAge leaves young events to whoever claims them, unless they are many.
func testUnplacedAge(t *testing.T, f *fixture) {
	tenant := f.AddTenant(t)
	webhook := f.AddWebhook(t, tenant, f.now)
	place := func() {
		if _, err := f.store.FanOutOld(t.Context(), f.now, time.Second); err != nil {
			t.Fatal(err)
		}
	}
	e := f.Emit(t, tenant, "contact1", f.now)
	place()
	f.placed(t, e)
	f.now = f.now.Add(time.Second)
	place()
	f.placed(t, e, webhook)
	ahead := f.Emit(t, tenant, "contact1", f.now.Add(time.Hour))
	place()
	f.placed(t, ahead, webhook)
}

// testUnplacedBehind sends new events behind those that are due, and no more than the endpoint has slots for.
func testUnplacedBehind(t *testing.T, f *fixture) {
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
