package store_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/types"

	"contactbase/internal/delivery/store"
	"contactbase/internal/delivery/storetest"
	"contactbase/internal/stamp"
	"contactbase/internal/testkit"
)

func TestStore(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) storetest.Backend {
		app := testkit.NewApp(t)
		return &sqliteBackend{app: app}
	})
}

// sqliteBackend is the suite's way into the app's tables.
type sqliteBackend struct {
	app core.App
}

// Store opens the folder once more, as another process does.
func (b *sqliteBackend) Store(t *testing.T) *store.Store {
	return store.New(testkit.Reopen(t, b.app))
}

func (b *sqliteBackend) AddTenant(t *testing.T) string { return testkit.Tenant(t, b.app, "Acme") }

func (b *sqliteBackend) SetFeature(t *testing.T, tenant string, enabled bool) {
	testkit.Execute(t, b.app, "UPDATE tenants SET apiEnabled = {:enabled} WHERE id = {:id}", dbx.Params{"id": tenant, "enabled": enabled})
}

func (b *sqliteBackend) AddWebhook(t *testing.T, tenant string, at time.Time) string {
	id := core.GenerateDefaultRandomId()
	testkit.Execute(t, b.app, "INSERT INTO webhooks (id, tenant, url, secret, sealedHeaders, maxPerSecond, created, updated) VALUES ({:id}, {:tenant}, {:url}, {:secret}, {:headers}, {:rate}, {:at}, {:at})",
		dbx.Params{
			"id": id, "tenant": tenant, "url": storetest.URL, "secret": storetest.Secret, "rate": storetest.MaxPerSecond, "at": stamp.Stored(at),
			"headers": fmt.Sprintf(`{%q: %q}`, strings.ToLower(storetest.HeaderName), storetest.HeaderValue),
		})
	return id
}

func (b *sqliteBackend) SetDisabled(t *testing.T, webhook string, disabled bool, at time.Time) {
	testkit.Execute(t, b.app, "UPDATE webhooks SET disabled = {:disabled}, updated = {:at} WHERE id = {:id}",
		dbx.Params{"id": webhook, "disabled": disabled, "at": stamp.Stored(at)})
}

func (b *sqliteBackend) DeleteWebhook(t *testing.T, webhook string) {
	testkit.Execute(t, b.app, "DELETE FROM webhooks WHERE id = {:id}", dbx.Params{"id": webhook})
}

func (b *sqliteBackend) Disabled(t *testing.T, webhook string) (disabled bool, reason string) {
	t.Helper()
	err := b.app.DB().NewQuery("SELECT disabled, disabledReason FROM webhooks WHERE id = {:id}").Bind(dbx.Params{"id": webhook}).Row(&disabled, &reason)
	if err != nil {
		t.Fatal(err)
	}
	entries := testkit.Count(t, b.app, "SELECT count(*) FROM audit_log WHERE record = {:id} AND actorKind = 'system' AND fields LIKE '%disabled%'", dbx.Params{"id": webhook})
	if (entries > 0) != (reason != "") {
		t.Errorf("a webhook with the reason %q has %d entries in the audit log", reason, entries)
	}
	notices := testkit.Count(t, b.app, "SELECT count(*) FROM _notices WHERE kind = 'webhook.disabled' AND subject = {:id}", dbx.Params{"id": webhook})
	if disabled && reason != "" && notices != 1 {
		t.Errorf("a webhook that was disabled with a reason has %d notices", notices)
	}
	return disabled, reason
}

func (b *sqliteBackend) Emit(t *testing.T, tenant, contact string, at time.Time) string {
	t.Helper()
	if contact != "" {
		testkit.Execute(t, b.app, "INSERT OR IGNORE INTO contacts (id, tenant, name, created, updated) VALUES ({:id}, {:tenant}, 'Grace', {:at}, {:at})",
			dbx.Params{"id": contact, "tenant": tenant, "at": stamp.Stored(at)})
	}
	id := core.GenerateDefaultRandomId()
	testkit.Execute(t, b.app, "INSERT INTO events (id, tenant, type, contact, payload, created) VALUES ({:id}, {:tenant}, 'contact.updated', {:contact}, {:payload}, {:at})",
		dbx.Params{"id": id, "tenant": tenant, "contact": contact, "at": stamp.Stored(at), "payload": `{"id":"evt_` + id + `"}`})
	return id
}

func (b *sqliteBackend) DeliveriesOf(t *testing.T, event string) map[string]string {
	t.Helper()
	var found []struct {
		ID      string `db:"id"`
		Webhook string `db:"webhook"`
	}
	if err := b.app.DB().Select("id", "webhook").From("deliveries").Where(dbx.HashExp{"event": event}).All(&found); err != nil {
		t.Fatal(err)
	}
	ids := map[string]string{}
	for _, row := range found {
		ids[row.Webhook] = row.ID
	}
	return ids
}

func (b *sqliteBackend) DeleteEvents(t *testing.T, events ...string) {
	for _, id := range events {
		testkit.Execute(t, b.app, "DELETE FROM deliveries WHERE event = {:id}", dbx.Params{"id": id})
		testkit.Execute(t, b.app, "DELETE FROM events WHERE id = {:id}", dbx.Params{"id": id})
	}
}

func (b *sqliteBackend) DeleteContact(t *testing.T, contact string) {
	testkit.Execute(t, b.app, "DELETE FROM contacts WHERE id = {:id}", dbx.Params{"id": contact})
}

func (b *sqliteBackend) Erased(t *testing.T, event string) bool {
	return testkit.Count(t, b.app, "SELECT count(*) FROM events WHERE id = {:id} AND payload ->> '$.erased' = 1", dbx.Params{"id": event}) == 1
}

func (b *sqliteBackend) App() core.App { return b.app }

func (b *sqliteBackend) Transact(do func(tx core.App) error) error { return b.app.RunInTransaction(do) }

func (b *sqliteBackend) AddEvent(t *testing.T, tenant, contact string, at time.Time, webhooks ...string) []string {
	t.Helper()
	id := b.Emit(t, tenant, contact, at)
	testkit.Execute(t, b.app, "UPDATE _fanOutCursor SET event = {:id}", dbx.Params{"id": id})
	var ids []string
	for _, webhook := range webhooks {
		deliveryID := core.GenerateDefaultRandomId()
		testkit.Execute(t, b.app, "INSERT INTO deliveries (id, event, webhook, tenant, contact, status, nextAttempt, created, updated) "+
			"VALUES ({:id}, {:event}, {:webhook}, {:tenant}, {:contact}, 'pending', {:at}, {:at}, {:at})",
			dbx.Params{"id": deliveryID, "contact": contact, "event": id, "webhook": webhook, "tenant": tenant, "at": stamp.Stored(at)})
		ids = append(ids, deliveryID)
	}
	if err := store.Enqueue(b.app, id, at); err != nil {
		t.Fatal(err)
	}
	return ids
}

func (b *sqliteBackend) Attempts(t *testing.T) int {
	return testkit.Count(t, b.app, "SELECT count(*) FROM delivery_attempts", nil)
}

func (b *sqliteBackend) State(t *testing.T, id string) storetest.State {
	t.Helper()
	var found testkit.Delivery
	if err := b.app.DB().NewQuery("SELECT * FROM deliveries WHERE id = {:id}").Bind(dbx.Params{"id": id}).One(&found); err != nil {
		t.Fatal(err)
	}
	state := storetest.State{Status: found.Status, Attempts: found.Attempts, LastStatus: found.LastStatus, LastError: found.LastError}
	if found.NextAttempt != "" {
		next, err := types.ParseDateTime(found.NextAttempt)
		if err != nil {
			t.Fatal(err)
		}
		state.Next = next.Time()
	}
	err := b.app.DB().NewQuery("SELECT number, status, error, responseBody AS response_body FROM delivery_attempts WHERE delivery = {:id} ORDER BY number").
		Bind(dbx.Params{"id": id}).All(&state.Log)
	if err != nil {
		t.Fatal(err)
	}
	return state
}
