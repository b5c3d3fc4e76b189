package storetest

import (
	"bytes"
	"context"
	"sync"
	"testing"
	"time"

	"contactbase/internal/delivery"
	"contactbase/internal/event"
)

func testJob(t *testing.T, f *fixture) {
	tenant := f.AddTenant(t)
	webhook := f.AddWebhook(t, tenant, f.now)
	id := f.AddEvent(t, tenant, "contact1", f.now, webhook)[0]
	job := f.claimOnly(t, id)[0]
	if job.Attempt != 1 || job.EventID == "" || job.EventType != string(event.ContactUpdated) || job.ContactID != "contact1" {
		t.Errorf("got %+v", job)
	}
	if !bytes.Contains(job.Payload, []byte(`"evt_`+job.EventID+`"`)) {
		t.Errorf("the payload is %s", job.Payload)
	}
	if !job.Created.Equal(f.now) || !job.EventCreated.Equal(f.now) || !job.Lease.Equal(f.now.Add(lease)) {
		t.Errorf("created %v and %v, claimed until %v", job.Created, job.EventCreated, job.Lease)
	}
	e := job.Endpoint
	if e.WebhookID != webhook || e.TenantID != tenant || e.URL != URL || e.Fault != nil {
		t.Errorf("got %+v", e)
	}
	if len(e.Secrets) != 1 || e.Secrets[0] != Secret || e.Headers[HeaderName] != HeaderValue {
		t.Errorf("got secrets %v and headers %v", e.Secrets, e.Headers)
	}
}

func testDistinct(t *testing.T, f *fixture) {
	f.distinct(t, []delivery.Queue{f.store, f.Store(t), f.store, f.Store(t)})
}

func testExclusive(t *testing.T, f *fixture) {
	f.distinct(t, []delivery.Queue{f.store, f.store, f.store})
}

// distinct expects that what is claimed at once through the queues is claimed once.
func (f *fixture) distinct(t *testing.T, queues []delivery.Queue) {
	tenant := f.AddTenant(t)
	const n = 60
	want := map[string]bool{}
	for range 6 {
		webhook := f.AddWebhook(t, tenant, f.now)
		for range n / 6 {
			want[f.AddEvent(t, tenant, "", f.now, webhook)[0]] = true
		}
	}
	claimed := f.claimAtOnce(t, queues)
	for id, times := range claimed {
		if times != 1 || !want[id] {
			t.Errorf("%s was claimed %d times", id, times)
		}
	}
	for _, job := range f.claim(t) { // what a slow reader left over
		if claimed[job.DeliveryID]++; claimed[job.DeliveryID] != 1 {
			t.Errorf("%s was claimed twice", job.DeliveryID)
		}
	}
	if len(claimed) != n {
		t.Errorf("%d of %d were claimed", len(claimed), n)
	}
}

// claimAtOnce claims all that is due, some at a time through each of the queues, and returns how often each delivery was
// claimed.
func (f *fixture) claimAtOnce(t *testing.T, queues []delivery.Queue) map[string]int {
	var mu sync.Mutex
	claimed := map[string]int{}
	var all sync.WaitGroup
	for _, queue := range queues {
		all.Go(func() {
			options := f.options()
			options.Limit = 7
			for empty := 0; empty < 2; {
				jobs, err := queue.Claim(context.Background(), options)
				if err != nil {
					t.Errorf("claiming: %v", err)
					return
				}
				if len(jobs) == 0 {
					empty++ // another claim may have been faster with what this one read
				}
				mu.Lock()
				for _, job := range jobs {
					claimed[job.DeliveryID]++
				}
				mu.Unlock()
			}
		})
	}
	all.Wait()
	return claimed
}

func testDue(t *testing.T, f *fixture) {
	tenant := f.AddTenant(t)
	webhook := f.AddWebhook(t, tenant, f.now)
	if next := f.nextDue(t); !next.IsZero() {
		t.Errorf("with nothing pending, the next is due at %v", next)
	}
	id := f.AddEvent(t, tenant, "", f.now, webhook)[0]
	f.attemptOnce(t, id, func(job *delivery.Job) delivery.Result { return f.retry(job, f.now.Add(5*time.Second)) })
	f.claimOnly(t)
	if next := f.nextDue(t); !next.Equal(f.now.Add(5 * time.Second)) {
		t.Errorf("the next is due at %v", next)
	}
	f.now = f.now.Add(5*time.Second - time.Millisecond)
	f.claimOnly(t)
	f.now = f.now.Add(time.Millisecond)
	if job := f.claimOnly(t, id)[0]; job.Attempt != 2 {
		t.Errorf("it is attempt %d", job.Attempt)
	}
	if next := f.nextDue(t); !next.IsZero() {
		t.Errorf("with all claimed, the next is due at %v", next)
	}
}

func testLease(t *testing.T, f *fixture) {
	tenant := f.AddTenant(t)
	id := f.AddEvent(t, tenant, "", f.now, f.AddWebhook(t, tenant, f.now))[0]
	lost := f.claimOnly(t, id)[0]
	f.now = f.now.Add(lease - time.Millisecond)
	f.claimOnly(t)
	f.now = f.now.Add(time.Millisecond)
	again := f.claimWith(t, f.Store(t), f.options())
	expect(t, again, id)
	if again[0].Attempt != 1 {
		t.Errorf("the lost attempt counted: it is number %d", again[0].Attempt)
	}
	f.complete(t, f.failed(lost))
	if state := f.state(t, id, delivery.StatusPending, 0); len(state.Log) != 0 {
		t.Errorf("the late result was logged: %+v", state.Log)
	}
	f.complete(t, f.delivered(again[0]))
	f.state(t, id, delivery.StatusDelivered, 1)
	f.complete(t, f.failed(lost), f.failed(again[0]))
	f.state(t, id, delivery.StatusDelivered, 1)
}

func testRelease(t *testing.T, f *fixture) {
	tenant := f.AddTenant(t)
	webhook := f.AddWebhook(t, tenant, f.now)
	first, second := f.AddEvent(t, tenant, "", f.now, webhook)[0], f.AddEvent(t, tenant, "", f.now, webhook)[0]
	jobs := f.claimOnly(t, first, second)
	if err := f.store.Release(context.Background(), jobs[:1]); err != nil {
		t.Fatal(err)
	}
	again := f.claimOnly(t, jobs[0].DeliveryID)
	if again[0].Attempt != 1 {
		t.Errorf("the release counted as an attempt: it is number %d", again[0].Attempt)
	}
	if err := f.store.Release(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
	f.claimOnly(t)
}

func testReleaseLost(t *testing.T, f *fixture) {
	tenant := f.AddTenant(t)
	id := f.AddEvent(t, tenant, "", f.now, f.AddWebhook(t, tenant, f.now))[0]
	lost := f.claimOnly(t, id)
	f.now = f.now.Add(lease)
	f.claimOnly(t, id)
	if err := f.store.Release(context.Background(), lost); err != nil {
		t.Fatal(err)
	}
	f.claimOnly(t)
}

func testReleaseAll(t *testing.T, f *fixture) {
	tenant := f.AddTenant(t)
	webhook := f.AddWebhook(t, tenant, f.now)
	ids := []string{f.AddEvent(t, tenant, "", f.now, webhook)[0], f.AddEvent(t, tenant, "", f.now, webhook)[0]}
	lost := f.claimOnly(t, ids...)
	successor := f.Store(t)
	if err := successor.ReleaseAll(context.Background()); err != nil {
		t.Fatal(err)
	}
	f.now = f.now.Add(time.Second)
	again := f.claimWith(t, successor, f.options())
	expect(t, again, ids...)
	f.complete(t, f.failed(lost[0]), f.failed(lost[1]))
	for _, job := range again {
		f.state(t, job.DeliveryID, delivery.StatusPending, 0)
	}
}

func testComplete(t *testing.T, f *fixture) {
	tenant := f.AddTenant(t)
	webhook := f.AddWebhook(t, tenant, f.now)
	var ids []string
	for range 3 {
		ids = append(ids, f.AddEvent(t, tenant, "", f.now, webhook)...)
	}
	jobs := map[string]*delivery.Job{}
	for _, job := range f.claimOnly(t, ids...) {
		jobs[job.DeliveryID] = job
	}
	next := f.now.Add(time.Hour)
	f.complete(t, f.delivered(jobs[ids[0]]), f.retry(jobs[ids[1]], next), f.failed(jobs[ids[2]]))

	state := f.state(t, ids[0], delivery.StatusDelivered, 1)
	if state.LastStatus != 200 || state.LastError != "" || !state.Next.IsZero() {
		t.Errorf("delivered: got %+v", state)
	}
	if want := (Logged{Number: 1, Status: 200, ResponseBody: "the answer"}); len(state.Log) != 1 || state.Log[0] != want {
		t.Errorf("the log is %+v, want %+v", state.Log, want)
	}
	state = f.state(t, ids[1], delivery.StatusPending, 1)
	if state.LastStatus != 500 || state.LastError != "the endpoint answered 500 Internal Server Error" || !state.Next.Equal(next) {
		t.Errorf("to be retried: got %+v", state)
	}
	state = f.state(t, ids[2], delivery.StatusFailed, 1)
	if state.LastStatus != 0 || state.LastError != "timeout" || !state.Next.IsZero() {
		t.Errorf("failed: got %+v", state)
	}
	f.now = next
	f.attemptOnce(t, ids[1], f.delivered)
	if state = f.state(t, ids[1], delivery.StatusDelivered, 2); len(state.Log) != 2 || state.Log[1].Number != 2 {
		t.Errorf("the log is %+v", state.Log)
	}
	f.complete(t)
}
