package storetest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/delivery"
)

func testPlace(t *testing.T, f *fixture) {
	tenant, other, unpaid := f.AddTenant(t), f.AddTenant(t), f.AddTenant(t)
	first, second, disabled := f.AddWebhook(t, tenant, f.now), f.AddWebhook(t, tenant, f.now), f.AddWebhook(t, tenant, f.now)
	f.SetDisabled(t, disabled, true, f.now)
	elsewhere := f.AddWebhook(t, other, f.now)
	f.AddWebhook(t, unpaid, f.now)
	f.SetFeature(t, unpaid, false)

	made := f.now
	ours, others, nobodys := f.Emit(t, tenant, "contact1", made), f.Emit(t, other, "contact2", made), f.Emit(t, unpaid, "contact3", made)
	f.claimOnly(t)
	f.now = made.Add(time.Hour)
	f.place(t)
	deliveries := f.placed(t, ours, first, second)
	f.placed(t, others, elsewhere)
	f.placed(t, nobodys)
	for _, id := range deliveries {
		if state := f.state(t, id, delivery.StatusPending, 0); !state.Next.Equal(made) {
			t.Errorf("it is due at %v, not when the event happened", state.Next)
		}
	}
	if jobs := f.claim(t); len(jobs) != 3 || !jobs[0].Created.Equal(made) {
		t.Errorf("claimed %d jobs, the first of which was made at %v", len(jobs), jobs[0].Created)
	}
	f.place(t)
	f.placed(t, ours, first, second)
}

// testPlaceAnothers places what a process has written that died, and keeps the order.
func testPlaceAnothers(t *testing.T, f *fixture) {
	tenant := f.AddTenant(t)
	webhook := f.AddWebhook(t, tenant, f.now)
	events := []string{f.Emit(t, tenant, "contact1", f.now), f.Emit(t, tenant, "contact1", f.now)}
	f.store = f.Store(t)
	f.place(t)
	for range 2 {
		events = append(events, f.Emit(t, tenant, "contact1", f.now))
	}
	f.place(t)
	for _, e := range events {
		f.attemptOnce(t, f.placed(t, e, webhook)[0], f.delivered)
	}
}

// testPlaceBehindAFailing places the next event of a contact whose first one is being retried.
func testPlaceBehindAFailing(t *testing.T, f *fixture) {
	tenant := f.AddTenant(t)
	webhook := f.AddWebhook(t, tenant, f.now)
	start := f.now
	failing := f.Emit(t, tenant, "contact1", start)
	f.place(t)
	f.attemptOnce(t, f.placed(t, failing, webhook)[0], func(job *delivery.Job) delivery.Result { return f.retry(job, start.Add(time.Hour)) })
	f.now = start.Add(20 * time.Second)
	held := f.Emit(t, tenant, "contact1", f.now)
	f.place(t)
	f.claimOnly(t)
	f.now = start.Add(time.Minute)
	f.claimOnly(t, f.placed(t, held, webhook)[0])
}

func testPlaceOnce(t *testing.T, f *fixture) {
	tenant := f.AddTenant(t)
	webhook := f.AddWebhook(t, tenant, f.now)
	const n = 120
	stores := []delivery.Store{f.store, f.Store(t), f.Store(t), f.Store(t)}
	events := make([]string, 0, n)
	for range n {
		events = append(events, f.Emit(t, tenant, "", f.now))
	}
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			for more := true; more; {
				out, err := stores[i].FanOutOld(context.Background(), f.now, 0)
				if err != nil {
					t.Errorf("fanning out: %v", err)
					return
				}
				more = out.More
			}
		})
	}
	all.Wait()
	f.place(t)
	var ids []string
	for _, e := range events {
		ids = append(ids, f.placed(t, e, webhook)...)
	}
	jobs := f.claimSome(t, 2*n, false)
	expect(t, jobs, ids...)
	for _, job := range jobs {
		f.complete(t, f.delivered(job))
	}
	f.place(t)
	f.claimOnly(t)
}

// testPlaceInTurns has a backlog placed, of which some goes out in between.
func testPlaceInTurns(t *testing.T, f *fixture) {
	tenant := f.AddTenant(t)
	webhook := f.AddWebhook(t, tenant, f.now)
	const n = 400
	events := make([]string, n)
	for i := range events {
		events[i] = f.Emit(t, tenant, "", f.now)
	}
	out, err := f.store.FanOutOld(t.Context(), f.now, 0)
	if err != nil || !out.More {
		t.Fatalf("after the first chunk there is more: %v, %v", out.More, err)
	}
	first := f.placed(t, events[0], webhook)[0]
	for _, job := range f.claim(t) {
		f.complete(t, f.delivered(job))
	}
	f.state(t, first, delivery.StatusDelivered, 1)
	f.placed(t, events[n-1])
	f.place(t)
	for _, e := range events {
		f.placed(t, e, webhook)
	}
}

// testPlaceForMany has a few events placed for so many webhooks that it takes turns, too.
func testPlaceForMany(t *testing.T, f *fixture) {
	tenant := f.AddTenant(t)
	webhooks := make([]string, 60)
	for i := range webhooks {
		webhooks[i] = f.AddWebhook(t, tenant, f.now)
	}
	events := make([]string, 20)
	for i := range events {
		events[i] = f.Emit(t, tenant, "", f.now)
	}
	out, err := f.store.FanOutOld(t.Context(), f.now, 0)
	if err != nil || !out.More {
		t.Fatalf("after the first chunk there is more: %v, %v", out.More, err)
	}
	f.placed(t, events[0], webhooks...)
	f.placed(t, events[len(events)-1])
	f.place(t)
	f.placed(t, events[len(events)-1], webhooks...)
}

// testPlaceBefore places before a change of who is told.
func testPlaceBefore(t *testing.T, f *fixture) {
	tenant := f.AddTenant(t)
	webhook := f.AddWebhook(t, tenant, f.now)
	before := f.Emit(t, tenant, "contact1", f.now)
	undone := errors.New("undone")
	err := f.Transact(func(tx core.App) error { return errors.Join(f.store.FanOut(t.Context(), tx), undone) })
	if !errors.Is(err, undone) {
		t.Fatal(err)
	}
	f.placed(t, before)
	f.placeAll(t)
	id := f.placed(t, before, webhook)[0]
	f.SetDisabled(t, webhook, true, f.now)
	after := f.Emit(t, tenant, "contact1", f.now)
	f.placeAll(t)
	f.SetDisabled(t, webhook, false, f.now)
	f.place(t)
	f.placed(t, after)
	f.attemptOnce(t, id, f.delivered)
}

// testPlaceManyBefore places in one transaction more than fits a turn.
func testPlaceManyBefore(t *testing.T, f *fixture) {
	tenant := f.AddTenant(t)
	webhook := f.AddWebhook(t, tenant, f.now)
	var events []string
	for range 60 {
		events = append(events, f.Emit(t, tenant, "", f.now))
	}
	f.placeAll(t)
	for range 60 {
		events = append(events, f.Emit(t, tenant, "", f.now))
	}
	if err := f.store.FanOut(t.Context(), f.App()); err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		f.placed(t, e, webhook)
	}
}

// testPlaceBeforeGone has an event happen while the attempt is in flight that ends the endpoint.
func testPlaceBeforeGone(t *testing.T, f *fixture) {
	tenant := f.AddTenant(t)
	webhook := f.AddWebhook(t, tenant, f.now)
	job := f.claimOnly(t, f.AddEvent(t, tenant, "contact1", f.now, webhook)[0])[0]
	before := f.Emit(t, tenant, "contact1", f.now)
	f.complete(t, f.result(job, delivery.Outcome{Status: 410}, delivery.Decision{Status: delivery.StatusFailed, Disable: "Gone."}))
	after := f.Emit(t, tenant, "contact1", f.now)
	f.place(t)
	f.placed(t, before, webhook)
	f.placed(t, after)
}

func testPlaceBeforeDead(t *testing.T, f *fixture) {
	tenant := f.AddTenant(t)
	start := f.now
	webhook := f.AddWebhook(t, tenant, start)
	first := f.AddEvent(t, tenant, "", start, webhook)[0]
	f.attemptOnce(t, first, func(job *delivery.Job) delivery.Result { return f.retry(job, start.Add(deadAfter)) })
	f.now = start.Add(deadAfter)
	before := f.Emit(t, tenant, "", f.now)
	f.attemptOnce(t, first, f.failed)
	if disabled, _ := f.Disabled(t, webhook); !disabled {
		t.Fatal("the endpoint is not disabled")
	}
	f.place(t)
	f.placed(t, before, webhook)
}

// testPlaceBeforeRecovery counts no event as missed that is only not placed yet.
func testPlaceBeforeRecovery(t *testing.T, f *fixture) {
	tenant := f.AddTenant(t)
	webhook := f.AddWebhook(t, tenant, f.now)
	f.SetDisabled(t, webhook, true, f.now)
	missed := f.Emit(t, tenant, "contact1", f.now)
	f.placeAll(t)
	f.SetDisabled(t, webhook, false, f.now)
	waiting := f.Emit(t, tenant, "contact2", f.now)
	f.recover(t, webhook, f.now.Add(-time.Hour), true, 1)
	f.recover(t, webhook, f.now.Add(-time.Hour), false, 1)
	f.place(t)
	f.placed(t, missed, webhook)
	f.placed(t, waiting, webhook)
}

// testPlaceAfterDeletion deletes the last event, whose place another one takes.
func testPlaceAfterDeletion(t *testing.T, f *fixture) {
	tenant := f.AddTenant(t)
	webhook := f.AddWebhook(t, tenant, f.now)
	first, last := f.Emit(t, tenant, "", f.now), f.Emit(t, tenant, "", f.now)
	f.place(t)
	f.DeleteEvents(t, last)
	next := f.Emit(t, tenant, "", f.now)
	f.place(t)
	f.placed(t, next, webhook)

	waiting := f.Emit(t, tenant, "", f.now)
	f.DeleteEvents(t, next, first) // the position is on the first of them
	later := f.Emit(t, tenant, "", f.now)
	f.place(t)
	f.placed(t, waiting, webhook)
	f.placed(t, later, webhook)

	f.DeleteEvents(t, waiting, later)
	only := f.Emit(t, tenant, "", f.now)
	f.place(t)
	f.placed(t, only, webhook)
}

func testPlaceNoPing(t *testing.T, f *fixture) {
	tenant := f.AddTenant(t)
	webhook, other := f.AddWebhook(t, tenant, f.now), f.AddWebhook(t, tenant, f.now)
	job := f.ping(t, webhook, f.delivered)
	behind := f.Emit(t, tenant, "", f.now)
	f.place(t)
	f.placed(t, job.EventID, webhook)
	f.placed(t, behind, webhook, other)
}

// testPlaceByAnotherClock places what was made by a clock that was ahead.
func testPlaceByAnotherClock(t *testing.T, f *fixture) {
	tenant := f.AddTenant(t)
	webhook := f.AddWebhook(t, tenant, f.now)
	ahead := f.now.Add(time.Hour)
	events := []string{f.Emit(t, tenant, "contact1", ahead), f.Emit(t, tenant, "", ahead)}
	f.place(t)
	f.claimOnly(t, f.placed(t, events[0], webhook)[0], f.placed(t, events[1], webhook)[0])
}

// testEraseUnplaced erases a contact whose last events have no deliveries yet.
func testEraseUnplaced(t *testing.T, f *fixture) {
	tenant := f.AddTenant(t)
	webhook := f.AddWebhook(t, tenant, f.now)
	wanted := f.Emit(t, tenant, "contact1", f.now)
	f.placeAll(t)
	f.SetDisabled(t, webhook, true, f.now)
	unwanted := f.Emit(t, tenant, "contact1", f.now)
	f.placeAll(t)
	f.SetDisabled(t, webhook, false, f.now)
	last := f.Emit(t, tenant, "contact1", f.now)
	f.DeleteContact(t, "contact1")
	err := f.Transact(func(tx core.App) error {
		_, found, err := f.store.EraseContact(tx, "contact1", 0, 100)
		if found != 3 {
			t.Errorf("found %d events", found)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if f.Erased(t, wanted) || !f.Erased(t, unwanted) || f.Erased(t, last) {
		t.Errorf("erased are %v, %v and %v", f.Erased(t, wanted), f.Erased(t, unwanted), f.Erased(t, last))
	}
	for _, e := range []string{wanted, last} {
		f.attemptOnce(t, f.placed(t, e, webhook)[0], f.delivered)
		if !f.Erased(t, e) {
			t.Error("what was delivered is not erased")
		}
	}
}

func testPruneUnplaced(t *testing.T, f *fixture) {
	tenant := f.AddTenant(t)
	old := f.Emit(t, tenant, "", f.now)
	f.placeAll(t)
	webhook := f.AddWebhook(t, tenant, f.now)
	waiting := f.Emit(t, tenant, "", f.now)
	if n, err := f.store.Prune(t.Context(), f.now.Add(time.Hour)); n != 1 || err != nil {
		t.Errorf("pruned %d, %v", n, err)
	}
	f.place(t)
	f.placed(t, old)
	f.attemptOnce(t, f.placed(t, waiting, webhook)[0], f.delivered)
}

// place places all there is, turn by turn.
func (f *fixture) place(t *testing.T) {
	t.Helper()
	for more := true; more; {
		out, err := f.store.FanOutOld(context.Background(), f.now, 0)
		if err != nil {
			t.Fatalf("fanning out: %v", err)
		}
		more = out.More
	}
}

// placeAll places all there is in one transaction.
func (f *fixture) placeAll(t *testing.T) {
	t.Helper()
	err := f.Transact(func(tx core.App) error { return f.store.FanOut(t.Context(), tx) })
	if err != nil {
		t.Fatalf("placing: %v", err)
	}
}

// placed expects an event to have deliveries to exactly these webhooks, and returns their ids.
func (f *fixture) placed(t *testing.T, event string, webhooks ...string) []string {
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
