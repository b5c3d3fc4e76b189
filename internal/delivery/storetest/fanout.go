package storetest

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"contactbase/internal/delivery"
	"contactbase/internal/delivery/store"
)

func testFanOut(t *testing.T, f *fixture) {
	tenant, other, unpaid := f.AddTenant(t), f.AddTenant(t), f.AddTenant(t)
	first, second, disabled := f.AddWebhook(t, tenant, f.now),
		f.AddWebhook(t, tenant, f.now), f.AddWebhook(t, tenant, f.now)
	f.SetDisabled(t, disabled, true, f.now)
	elsewhere := f.AddWebhook(t, other, f.now)
	f.AddWebhook(t, unpaid, f.now)
	f.SetFeature(t, unpaid, false)

	made := f.now
	ours, others, nobodys := f.Emit(t, tenant, "contact1", made),
		f.Emit(t, other, "contact2", made), f.Emit(t, unpaid, "contact3", made)
	f.claimOnly(t)
	f.now = made.Add(time.Hour)
	f.fanOut(t)
	deliveries := f.deliveries(t, ours, first, second)
	f.deliveries(t, others, elsewhere)
	f.deliveries(t, nobodys)
	for _, id := range deliveries {
		if state := f.state(t, id, delivery.StatusPending, 0); !state.Next.Equal(made) {
			t.Errorf("it is due at %v, not when the event happened", state.Next)
		}
	}
	if jobs := f.claim(t); len(jobs) != 3 || !jobs[0].Created.Equal(made) {
		t.Errorf("claimed %d jobs, the first created at %v", len(jobs), jobs[0].Created)
	}
	f.fanOut(t)
	f.deliveries(t, ours, first, second)
}

// testFanOutForOthers fans out the events of a process that crashed, in order.
func testFanOutForOthers(t *testing.T, f *fixture) {
	tenant := f.AddTenant(t)
	webhook := f.AddWebhook(t, tenant, f.now)
	events := []string{f.Emit(t, tenant, "contact1", f.now), f.Emit(t, tenant, "contact1", f.now)}
	f.store = f.Store(t)
	f.fanOut(t)
	for range 2 {
		events = append(events, f.Emit(t, tenant, "contact1", f.now))
	}
	f.fanOut(t)
	for _, e := range events {
		f.attemptOnce(t, f.deliveries(t, e, webhook)[0], f.delivered)
	}
}

// testFanOutBehindFailing fans out the second event of a contact whose first one is being retried.
func testFanOutBehindFailing(t *testing.T, f *fixture) {
	tenant := f.AddTenant(t)
	webhook := f.AddWebhook(t, tenant, f.now)
	start := f.now
	failing := f.Emit(t, tenant, "contact1", start)
	f.fanOut(t)
	f.attemptOnce(t, f.deliveries(t, failing, webhook)[0], func(job *delivery.Job) delivery.Result {
		return f.retry(job, start.Add(time.Hour))
	})
	f.now = start.Add(20 * time.Second)
	held := f.Emit(t, tenant, "contact1", f.now)
	f.fanOut(t)
	f.claimOnly(t)
	f.now = start.Add(time.Minute)
	f.claimOnly(t, f.deliveries(t, held, webhook)[0])
}

func testFanOutOnce(t *testing.T, f *fixture) {
	tenant := f.AddTenant(t)
	webhook := f.AddWebhook(t, tenant, f.now)
	const n = 120
	stores := []*store.Store{f.store, f.Store(t), f.Store(t), f.Store(t)}
	events := make([]string, 0, n)
	for range n {
		events = append(events, f.Emit(t, tenant, "", f.now))
	}
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			for more := true; more; {
				out, err := stores[i].FanOut(context.Background(), f.now)
				if err != nil {
					t.Errorf("fanning out: %v", err)
					return
				}
				more = out.More
			}
		})
	}
	all.Wait()
	f.fanOut(t)
	var ids []string
	for _, e := range events {
		ids = append(ids, f.deliveries(t, e, webhook)...)
	}
	jobs := f.claimSome(t, 2*n)
	expect(t, jobs, ids...)
	for _, job := range jobs {
		f.complete(t, f.delivered(job))
	}
	f.fanOut(t)
	f.claimOnly(t)
}

// testFanOutInChunks fans out a backlog in chunks, and sends in between.
func testFanOutInChunks(t *testing.T, f *fixture) {
	tenant := f.AddTenant(t)
	webhook := f.AddWebhook(t, tenant, f.now)
	const n = 400
	events := make([]string, n)
	for i := range events {
		events[i] = f.Emit(t, tenant, "", f.now)
	}
	out, err := f.store.FanOut(t.Context(), f.now)
	if err != nil || !out.More {
		t.Fatalf("after the first chunk there is more: %v, %v", out.More, err)
	}
	first := f.deliveries(t, events[0], webhook)[0]
	for _, job := range f.claim(t) {
		f.complete(t, f.delivered(job))
	}
	f.state(t, first, delivery.StatusDelivered, 1)
	f.deliveries(t, events[n-1])
	f.fanOut(t)
	for _, e := range events {
		f.deliveries(t, e, webhook)
	}
}

// testFanOutToMany fans out few events to so many webhooks that it takes several chunks.
func testFanOutToMany(t *testing.T, f *fixture) {
	tenant := f.AddTenant(t)
	webhooks := make([]string, 60)
	for i := range webhooks {
		webhooks[i] = f.AddWebhook(t, tenant, f.now)
	}
	events := make([]string, 20)
	for i := range events {
		events[i] = f.Emit(t, tenant, "", f.now)
	}
	out, err := f.store.FanOut(t.Context(), f.now)
	if err != nil || !out.More {
		t.Fatalf("after the first chunk there is more: %v, %v", out.More, err)
	}
	f.deliveries(t, events[0], webhooks...)
	f.deliveries(t, events[len(events)-1])
	f.fanOut(t)
	f.deliveries(t, events[len(events)-1], webhooks...)
}

// testFanOutToVeryMany fans out an event of a tenant that has more webhooks than a write takes. The writes, between
// which webhooks may change, go on where the last one ended. Later events follow.
func testFanOutToVeryMany(t *testing.T, f *fixture) {
	large, other := f.AddTenant(t), f.AddTenant(t)
	var webhooks []string
	for range 450 {
		webhooks = append(webhooks, f.AddWebhook(t, large, f.now))
	}
	elsewhere := f.AddWebhook(t, other, f.now)
	event, second, last := f.Emit(t, large, "contact1", f.now),
		f.Emit(t, large, "contact1", f.now), f.Emit(t, other, "", f.now)
	step := func(want int) {
		t.Helper()
		out, err := f.store.FanOut(t.Context(), f.now)
		if err != nil || !out.More || len(out.Pending) != want {
			t.Fatalf("the step ends with %d endpoints, %t, %v", len(out.Pending), out.More, err)
		}
	}
	step(200)
	if found := f.DeliveriesOf(t, event); len(found) != 200 {
		t.Fatalf("it has %d deliveries", len(found))
	}
	f.store = f.Store(t) // after a crash
	f.SetDisabled(t, webhooks[0], true, f.now)
	f.SetDisabled(t, webhooks[449], true, f.now)
	step(200)
	f.fanOut(t)
	f.deliveries(t, event, webhooks[:449]...)
	f.deliveries(t, second, webhooks[1:449]...)
	f.deliveries(t, last, elsewhere)
}

// testFanOutAfterChange changes webhooks while events wait for fan-out. They go to those that are enabled, and were
// when the events were made.
func testFanOutAfterChange(t *testing.T, f *fixture) {
	tenant := f.AddTenant(t)
	kept, disabled, enabled, again := f.AddWebhook(t, tenant, f.now),
		f.AddWebhook(t, tenant, f.now), f.AddWebhook(t, tenant, f.now), f.AddWebhook(t, tenant, f.now)
	f.SetDisabled(t, enabled, true, f.now)
	before := f.Emit(t, tenant, "contact1", f.now)
	f.SetDisabled(t, disabled, true, f.now)
	f.SetDisabled(t, enabled, false, f.now)
	f.SetDisabled(t, again, true, f.now)
	f.SetDisabled(t, again, false, f.now)
	added := f.AddWebhook(t, tenant, f.now)
	f.store = f.Store(t)
	after := f.Emit(t, tenant, "contact1", f.now)
	f.fanOut(t)
	f.deliveries(t, before, kept)
	f.deliveries(t, after, kept, enabled, again, added)
	f.recover(t, enabled, f.now.Add(-time.Hour), false, 1)
	f.deliveries(t, before, kept, enabled)
}

// testFanOutManyBefore fans out more than a chunk at once.
func testFanOutManyBefore(t *testing.T, f *fixture) {
	tenant := f.AddTenant(t)
	webhook := f.AddWebhook(t, tenant, f.now)
	var events []string
	for range 2 {
		for range 60 {
			events = append(events, f.Emit(t, tenant, "", f.now))
		}
		f.fanOutAll(t)
	}
	for _, e := range events {
		f.deliveries(t, e, webhook)
	}
}

// testFanOutAfterGone emits an event during the attempt whose 410 disables the endpoint. Recovery has it.
func testFanOutAfterGone(t *testing.T, f *fixture) {
	tenant := f.AddTenant(t)
	webhook := f.AddWebhook(t, tenant, f.now)
	job := f.claimOnly(t, f.AddEvent(t, tenant, "contact1", f.now, webhook)[0])[0]
	waiting := f.Emit(t, tenant, "contact1", f.now)
	f.complete(t, f.result(job, delivery.Outcome{Status: 410},
		delivery.Decision{Status: delivery.StatusFailed, Disable: "Gone."}))
	f.fanOut(t)
	f.deliveries(t, waiting)
	f.SetDisabled(t, webhook, false, f.now)
	f.recover(t, webhook, f.now.Add(-time.Hour), false, 2)
	f.deliveries(t, waiting, webhook)
}

// testFanOutBeforeRecovery: an event that waits for fan-out was not missed.
func testFanOutBeforeRecovery(t *testing.T, f *fixture) {
	tenant := f.AddTenant(t)
	webhook := f.AddWebhook(t, tenant, f.now)
	f.SetDisabled(t, webhook, true, f.now)
	missed := f.Emit(t, tenant, "contact1", f.now)
	f.fanOutAll(t)
	f.SetDisabled(t, webhook, false, f.now)
	waiting := f.Emit(t, tenant, "contact2", f.now)
	f.recover(t, webhook, f.now.Add(-time.Hour), true, 1)
	f.recover(t, webhook, f.now.Add(-time.Hour), false, 1)
	f.fanOut(t)
	f.deliveries(t, missed, webhook)
	f.deliveries(t, waiting, webhook)
}

// testFanOutAfterDeletion deletes the last event. The next one reuses its row id.
func testFanOutAfterDeletion(t *testing.T, f *fixture) {
	tenant := f.AddTenant(t)
	webhook := f.AddWebhook(t, tenant, f.now)
	first, last := f.Emit(t, tenant, "", f.now), f.Emit(t, tenant, "", f.now)
	f.fanOut(t)
	f.DeleteEvents(t, last)
	next := f.Emit(t, tenant, "", f.now)
	f.fanOut(t)
	f.deliveries(t, next, webhook)

	waiting := f.Emit(t, tenant, "", f.now)
	f.DeleteEvents(t, next, first) // the cursor is on the first of them
	later := f.Emit(t, tenant, "", f.now)
	f.fanOut(t)
	f.deliveries(t, waiting, webhook)
	f.deliveries(t, later, webhook)

	f.DeleteEvents(t, waiting, later)
	only := f.Emit(t, tenant, "", f.now)
	f.fanOut(t)
	f.deliveries(t, only, webhook)
}

func testFanOutNoPing(t *testing.T, f *fixture) {
	tenant := f.AddTenant(t)
	webhook, other := f.AddWebhook(t, tenant, f.now), f.AddWebhook(t, tenant, f.now)
	job := f.ping(t, webhook, f.delivered)
	behind := f.Emit(t, tenant, "", f.now)
	f.fanOut(t)
	f.deliveries(t, job.EventID, webhook)
	f.deliveries(t, behind, webhook, other)
}

// testFanOutClockAhead fans out an event that was created while the clock was ahead.
func testFanOutClockAhead(t *testing.T, f *fixture) {
	tenant := f.AddTenant(t)
	webhook := f.AddWebhook(t, tenant, f.now)
	ahead := f.now.Add(time.Hour)
	events := []string{f.Emit(t, tenant, "contact1", ahead), f.Emit(t, tenant, "", ahead)}
	f.fanOut(t)
	f.claimOnly(t, f.deliveries(t, events[0], webhook)[0], f.deliveries(t, events[1], webhook)[0])
}

// testEraseAfterFanOut erases a contact whose last event was not fanned out.
func testEraseAfterFanOut(t *testing.T, f *fixture) {
	tenant := f.AddTenant(t)
	webhook := f.AddWebhook(t, tenant, f.now)
	wanted := f.Emit(t, tenant, "contact1", f.now)
	f.fanOutAll(t)
	f.SetDisabled(t, webhook, true, f.now)
	unwanted := f.Emit(t, tenant, "contact1", f.now)
	f.fanOutAll(t)
	f.SetDisabled(t, webhook, false, f.now)
	last := f.Emit(t, tenant, "contact1", f.now)
	f.DeleteContact(t, "contact1")
	whole := func(want int) {
		t.Helper()
		if found, err := f.store.FullyFannedOut([]string{"contact1"}); err != nil || len(found) != want {
			t.Errorf("%d of the contacts are fanned out, %v", len(found), err)
		}
	}
	whole(0)
	f.fanOutAll(t)
	whole(1)
	f.erase(t, "contact1")
	if f.Erased(t, wanted) || !f.Erased(t, unwanted) || f.Erased(t, last) {
		t.Errorf("erased are %v, %v and %v", f.Erased(t, wanted), f.Erased(t, unwanted), f.Erased(t, last))
	}
	for _, e := range []string{wanted, last} {
		f.attemptOnce(t, f.deliveries(t, e, webhook)[0], f.delivered)
		if !f.Erased(t, e) {
			t.Error("what was delivered is not erased")
		}
	}
}

// erase erases a contact.
func (f *fixture) erase(t *testing.T, contact string) {
	t.Helper()
	if err := f.store.EraseContacts(t.Context(), []string{contact}); err != nil {
		t.Fatal(err)
	}
}

func testPruneBeforeFanOut(t *testing.T, f *fixture) {
	tenant := f.AddTenant(t)
	old := f.Emit(t, tenant, "", f.now)
	f.fanOutAll(t)
	webhook := f.AddWebhook(t, tenant, f.now)
	waiting := f.Emit(t, tenant, "", f.now)
	if n, err := f.store.Prune(t.Context(), f.now.Add(time.Hour)); n != 1 || err != nil {
		t.Errorf("pruned %d, %v", n, err)
	}
	f.fanOut(t)
	f.deliveries(t, old)
	f.attemptOnce(t, f.deliveries(t, waiting, webhook)[0], f.delivered)
}

// fanOut fans out all events, chunk by chunk.
func (f *fixture) fanOut(t *testing.T) {
	t.Helper()
	for more := true; more; {
		out, err := f.store.FanOut(context.Background(), f.now)
		if err != nil {
			t.Fatalf("fanning out: %v", err)
		}
		more = out.More
	}
}

// fanOutAll fans out all events, those that nobody wants too.
func (f *fixture) fanOutAll(t *testing.T) {
	t.Helper()
	if err := f.store.CatchUp(t.Context()); err != nil {
		t.Fatalf("fanning out: %v", err)
	}
}

// deliveries expects an event to have deliveries to exactly these webhooks, and returns their ids.
func (f *fixture) deliveries(t *testing.T, event string, webhooks ...string) []string {
	t.Helper()
	found := f.DeliveriesOf(t, event)
	ids := make([]string, len(webhooks))
	for i, webhook := range webhooks {
		ids[i] = found[webhook]
	}
	if len(found) != len(webhooks) || slices.Contains(ids, "") {
		t.Fatalf("the event has deliveries %v, not to the webhooks %v", found, webhooks)
	}
	return ids
}
