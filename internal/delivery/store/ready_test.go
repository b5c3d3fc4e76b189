package store_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/delivery"
	"contactbase/internal/delivery/store"
	"contactbase/internal/event"
	"contactbase/internal/testkit"
)

// busy is a store with many endpoints of which it remembers that they have something to send.
type busy struct {
	*store.Store
	t      *testing.T
	app    core.App
	tenant string // of the endpoint
	now    time.Time
}

const webhooks = 60

// newBusy returns a store that has listed its endpoints. The endpoint of the tenant has had its only delivery claimed.
func newBusy(t *testing.T) (b *busy, claimed *delivery.Job) {
	app := testkit.NewApp(t)
	crowd := testkit.Tenant(t, app, "Crowd")
	for n := range webhooks {
		testkit.Webhook(t, app, crowd, fmt.Sprintf("https://%d.example.com", n), "")
	}
	b = &busy{Store: store.New(app), t: t, app: app, tenant: testkit.Tenant(t, app, "Acme")}
	testkit.Webhook(t, app, b.tenant, "https://hooks.example.com", "")
	for range 2 {
		testkit.Emit(t, app, crowd, "", event.ContactUpdated)
	}
	testkit.Emit(t, app, b.tenant, "contact", event.ContactUpdated)
	b.now = time.Now()
	for range 2 {
		if jobs := b.claim(); len(jobs) == 1 {
			claimed = jobs[0]
		}
		if n := b.KeepReady(); n < webhooks {
			t.Fatalf("%d endpoints are listed", n)
		}
	}
	if claimed == nil {
		t.Fatal("the endpoint's delivery was not claimed once")
	}
	return b, claimed
}

// claim claims one delivery of every endpoint and returns those of the tenant.
func (b *busy) claim() (jobs []*delivery.Job) {
	b.t.Helper()
	all, err := b.Claim(b.t.Context(), delivery.ClaimOptions{
		Now: b.now, Lease: time.Minute, Limit: 2 * webhooks, PerEndpoint: 1, PerTenant: 2 * webhooks,
	})
	if err != nil {
		b.t.Fatal(err)
	}
	for _, job := range all {
		if job.Endpoint.TenantID == b.tenant {
			jobs = append(jobs, job)
		}
	}
	return jobs
}

// place places all events.
func (b *busy) place() {
	b.t.Helper()
	for more := true; more; {
		var err error
		if more, err = b.Place(b.t.Context(), time.Now(), 0); err != nil {
			b.t.Fatal(err)
		}
	}
	b.now = time.Now()
}

// What the store does itself is known to its next claim, without reading which of many endpoints have something to send.
func TestReadyEndpointsAreKept(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		act    func(b *busy, claimed *delivery.Job)
		want   int // deliveries that the next claim gets
		leased int // in all, after it
	}{
		"nothing happens": {func(*busy, *delivery.Job) {}, 0, 1},
		"another process writes": {func(b *busy, _ *delivery.Job) {
			testkit.Emit(b.t, b.app, b.tenant, "", event.ContactUpdated)
			testkit.Place(b.t, b.app)
			b.now = time.Now()
		}, 0, 1},
		"an event is placed": {func(b *busy, _ *delivery.Job) {
			testkit.Write(b.t, b.app, b.tenant, "other", event.ContactUpdated)
			b.place()
		}, 1, 2},
		"the one in front is over": {func(b *busy, claimed *delivery.Job) {
			testkit.Write(b.t, b.app, b.tenant, "contact", event.ContactUpdated)
			b.place()
			if jobs := b.claim(); len(jobs) != 0 {
				b.t.Errorf("the second event of the contact was claimed beside the first: %v", jobs)
			}
			b.KeepReady()
			attempt := &delivery.Attempt{DeliveryID: claimed.DeliveryID, Number: 1, Started: b.now, Outcome: delivery.Outcome{Status: 200}, RequestHeaders: "{}", ResponseHeaders: "{}"}
			done := delivery.Result{Job: claimed, Attempt: attempt, Decision: delivery.Decision{Status: delivery.StatusDelivered}}
			if err := b.Complete(b.t.Context(), []delivery.Result{done}, b.now); err != nil {
				b.t.Fatal(err)
			}
			b.now = time.Now()
		}, 1, 1},
		"a claim is given back": {func(b *busy, claimed *delivery.Job) {
			if err := b.Release(b.t.Context(), []*delivery.Job{claimed}); err != nil {
				b.t.Fatal(err)
			}
			b.now = time.Now()
		}, 1, 1},
		"an admin asks for one": {func(b *busy, claimed *delivery.Job) {
			testkit.Execute(b.t, b.app, "UPDATE deliveries SET status = 'delivered', leaseUntil = '' WHERE id = {:id}", dbx.Params{"id": claimed.DeliveryID})
			if _, err := b.Redeliver(claimed.DeliveryID, time.Now()); err != nil {
				b.t.Fatal(err)
			}
			b.now = time.Now()
		}, 1, 1},
		"a webhook is disabled": {func(b *busy, claimed *delivery.Job) {
			testkit.Write(b.t, b.app, b.tenant, "other", event.ContactUpdated)
			b.place()
			testkit.Execute(b.t, b.app, "UPDATE webhooks SET disabled = 1 WHERE id = {:id}", dbx.Params{"id": claimed.Endpoint.WebhookID})
		}, 0, 1},
		"a tenant loses the feature": {func(b *busy, _ *delivery.Job) {
			testkit.Write(b.t, b.app, b.tenant, "other", event.ContactUpdated)
			b.place()
			testkit.Execute(b.t, b.app, "UPDATE tenants SET apiEnabled = 0 WHERE id = {:id}", dbx.Params{"id": b.tenant})
		}, 0, 1},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			b, claimed := newBusy(t)
			c.act(b, claimed)
			if jobs := b.claim(); len(jobs) != c.want {
				t.Errorf("%d deliveries were claimed, not %d", len(jobs), c.want)
			}
			leased := testkit.Count(t, b.app, "SELECT count(*) FROM deliveries WHERE tenant = {:tenant} AND status = 'pending' AND leaseUntil != ''",
				dbx.Params{"tenant": b.tenant})
			if leased != c.leased {
				t.Errorf("%d deliveries are leased, not %d", leased, c.leased)
			}
		})
	}
}
