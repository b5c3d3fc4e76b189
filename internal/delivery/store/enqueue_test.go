package store_test

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/delivery/store"
	"contactbase/internal/event"
	"contactbase/internal/stamp"
	"contactbase/internal/testkit"
)

func TestEnqueue(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	tenant, other, unpaid := testkit.Tenant(t, app, "Acme"), testkit.Tenant(t, app, "Other"), testkit.Tenant(t, app, "Unpaid")
	testkit.Execute(t, app, "UPDATE tenants SET apiEnabled = 0 WHERE id = {:id}", dbx.Params{"id": unpaid})
	webhook := func(tenant string, values map[string]any) string {
		values["tenant"], values["url"] = tenant, "https://hooks.example.com"
		return testkit.Record(t, app, "webhooks", values).Id
	}
	all := webhook(tenant, map[string]any{})
	created := webhook(tenant, map[string]any{"events": []string{"contact.created"}})
	some := webhook(tenant, map[string]any{"events": []string{"contact.created", "contact.deleted"}})
	webhook(tenant, map[string]any{"disabled": true})
	webhook(other, map[string]any{})
	webhook(unpaid, map[string]any{})

	for i, c := range []struct {
		tenant string
		kind   event.Kind
		want   []string
	}{
		{tenant, event.ContactCreated, []string{all, created, some}},
		{tenant, event.ContactUpdated, []string{all}},
		{tenant, event.ContactDeleted, []string{all, some}},
		{unpaid, event.ContactCreated, nil},
		{"nobody", event.ContactCreated, nil},
	} {
		e := &event.Event{Kind: c.kind, TenantID: c.tenant, Contact: "contact" + strconv.Itoa(i), Data: struct{}{}}
		if err := app.RunInTransaction(func(tx core.App) error { return store.Emit(tx, e, time.Now()) }); err != nil {
			t.Fatal(err)
		}
		if n := testkit.Count(t, app, "SELECT count(*) FROM deliveries WHERE event = {:event}", dbx.Params{"event": e.ID}); n != len(c.want) {
			t.Errorf("%s of %s: queued %d, want %d", c.kind, c.tenant, n, len(c.want))
		}
		for _, id := range c.want {
			n := testkit.Count(t, app, "SELECT count(*) FROM deliveries WHERE event = {:event} AND webhook = {:webhook} AND tenant = {:tenant} "+
				"AND status = 'pending' AND attempts = 0 AND blocked = 0 AND nextAttempt = created AND length(id) = 15",
				dbx.Params{"event": e.ID, "webhook": id, "tenant": c.tenant})
			if n != 1 {
				t.Errorf("%s: %d deliveries to %s", c.kind, n, id)
			}
		}
	}
}

func TestEnqueueGoesWithTheTransaction(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	tenant := testkit.Tenant(t, app, "Acme")
	testkit.Webhook(t, app, tenant, "https://hooks.example.com", "")
	rollback := app.RunInTransaction(func(tx core.App) error {
		e := &event.Event{Kind: event.ContactCreated, TenantID: tenant, Contact: "contact1", Data: struct{}{}}
		if err := store.Emit(tx, e, time.Now()); err != nil {
			t.Error(err)
		}
		return context.Canceled
	})
	if rollback == nil || testkit.Count(t, app, "SELECT (SELECT count(*) FROM deliveries) + (SELECT count(*) FROM events)", nil) != 0 {
		t.Error("a rollback left something")
	}
}

// A new event is due a minute after the one in front of it was made, where that was attempted and failed.
func TestEmitBehindAFailingDelivery(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	tenant := testkit.Tenant(t, app, "Acme")
	testkit.Webhook(t, app, tenant, "https://hooks.example.com", "")
	failing := testkit.Emit(t, app, tenant, "contact1", event.ContactUpdated)
	made := time.Now().Add(-20 * time.Second)
	testkit.Execute(t, app, "UPDATE deliveries SET attempts = 1, created = {:at}", dbx.Params{"at": stamp.Stored(made)})
	for _, old := range []bool{false, true} {
		if old {
			testkit.Execute(t, app, "UPDATE deliveries SET created = {:at} WHERE event = {:event}",
				dbx.Params{"event": failing, "at": stamp.Stored(made.Add(-time.Hour))})
			testkit.Execute(t, app, "DELETE FROM deliveries WHERE event != {:event}", dbx.Params{"event": failing})
		}
		before := stamp.Stored(time.Now())
		next := testkit.DeliveryOf(t, app, testkit.Emit(t, app, tenant, "contact1", event.ContactUpdated)).NextAttempt
		if !old && next != stamp.Stored(made.Add(time.Minute)) || old && (next < before || next > stamp.Stored(time.Now())) {
			t.Errorf("old %v: the next is due at %s", old, next)
		}
	}
}
