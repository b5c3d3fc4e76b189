package storetest

import (
	"bytes"
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
	if job.Attempt != 1 || job.EventID == "" ||
		job.EventType != string(event.ContactUpdated) || job.ContactID != "contact1" {
		t.Errorf("got %+v", job)
	}
	if !bytes.Contains(job.Payload, []byte(`"evt_`+job.EventID+`"`)) {
		t.Errorf("the payload is %s", job.Payload)
	}
	if !job.Created.Equal(f.now) || !job.EventCreated.Equal(f.now) {
		t.Errorf("created %v and %v", job.Created, job.EventCreated)
	}
	e := job.Endpoint
	if e.WebhookID != webhook || e.TenantID != tenant || e.URL != URL || e.Fault != nil {
		t.Errorf("got %+v", e)
	}
	if len(e.Secrets) != 1 || e.Secrets[0] != Secret ||
		e.Headers[HeaderName] != HeaderValue || e.MaxPerSecond != MaxPerSecond {
		t.Errorf("got secrets %v, headers %v and %d a second", e.Secrets, e.Headers, e.MaxPerSecond)
	}
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
	if state.LastStatus != 500 || state.LastError != "the endpoint responded with 500 Internal Server Error" ||
		!state.Next.Equal(next) {
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
