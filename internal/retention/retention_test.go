package retention_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/types"

	"contactbase/internal/contact"
	"contactbase/internal/fault"
	"contactbase/internal/idempotency"
	"contactbase/internal/inbound"
	"contactbase/internal/retention"
	"contactbase/internal/sqlite"
	"contactbase/internal/testkit"
)

// count returns the number that a query returns.
func count(t *testing.T, app core.App, query string, params dbx.Params) (n int) {
	t.Helper()
	if err := app.ConcurrentDB().NewQuery(query).Bind(params).Row(&n); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n
}

func remove(t *testing.T, app core.App, collection, id string) error {
	t.Helper()
	record, err := app.FindRecordById(collection, id)
	if err != nil {
		t.Fatal(err)
	}
	return app.Delete(record)
}

// fill adds a webhook, contacts, events, deliveries, an inbound request and a remembered response to a tenant. It
// returns the webhook.
func fill(t *testing.T, app core.App, tenantID string, contacts int) string {
	t.Helper()
	webhook := testkit.Webhook(t, app, tenantID, "https://example.com", "a long secret")
	testkit.Key(t, app, tenantID)
	inboundWebhook, err := inbound.FindByToken(app, testkit.Inbound(t, app, tenantID, "full", nil))
	if err != nil {
		t.Fatal(err)
	}
	if err := inbound.Record(t.Context(), app, inboundWebhook, "application/json", []byte("{}"), http.StatusBadRequest, "nothing", time.Now()); err != nil {
		t.Fatal(err)
	}
	_, err = sqlite.Write(app, func(tx sqlite.Reader) ([]sqlite.Statement, error) {
		return idempotency.Remember(tx, "a key of "+tenantID, "a request", &idempotency.Answer{Status: http.StatusCreated, Tenant: tenantID, Body: "{}"}, time.Now())
	})
	if err != nil {
		t.Fatal(err)
	}
	for i := range contacts {
		if _, err := testkit.Create(app, tenantID, contact.Changes{"name": fmt.Sprint("Ada ", i)}); err != nil {
			t.Fatal(err)
		}
	}
	testkit.FanOut(t, app)
	return webhook
}

var tenantTables = []string{"contacts", "events", "deliveries", "webhooks", "api_keys", "inbound_webhooks", "inbound_requests", "_contactSearch", "_idempotency"}

func rows(t *testing.T, app core.App, tenantID string) (total int) {
	t.Helper()
	for _, table := range tenantTables {
		total += count(t, app, "SELECT count(*) FROM {{"+table+"}} WHERE [[tenant]] = {:tenant}", dbx.Params{"tenant": tenantID})
	}
	return total
}

// A tenant is deleted at once, and its dependents in chunks, across restarts. Other tenants keep everything.
func TestSweepTenant(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	app := testkit.NewAppOn(t, testkit.ConnectRecording(func(text string) {
		if strings.HasPrefix(text, "DELETE FROM `events` WHERE") {
			cancel()
		}
	}))
	gone, kept := testkit.Tenant(t, app, "Gone"), testkit.Tenant(t, app, "Kept")
	fill(t, app, gone, 130)
	fill(t, app, kept, 3)
	before, others := rows(t, app, gone), rows(t, app, kept)
	if err := remove(t, app, "tenants", gone); err != nil {
		t.Fatal(err)
	}
	if n := rows(t, app, gone); n != before {
		t.Errorf("the transaction of the deletion deleted %d of %d rows", before-n, before)
	}
	if _, err := testkit.Create(app, gone, contact.Changes{"name": "Late"}); !errors.Is(err, contact.ErrNoTenant) {
		t.Errorf("a contact of a deleted tenant: %v", err)
	}
	if err := retention.Sweep(ctx, app, testkit.Deliveries(app)); !errors.Is(err, context.Canceled) {
		t.Errorf("an interrupted sweep returns %v", err)
	}
	if n := rows(t, app, gone); n == 0 || n >= before {
		t.Errorf("after an interruption %d of %d rows are left", n, before)
	}
	restarted := testkit.Reopen(t, app)
	if err := retention.Sweep(t.Context(), restarted, testkit.Deliveries(restarted)); err != nil {
		t.Fatal(err)
	}
	if n := rows(t, app, gone); n != 0 {
		t.Errorf("%d rows are left", n)
	}
	if n := rows(t, app, kept); n != others {
		t.Errorf("another tenant has %d rows, want %d", n, others)
	}
	if n := count(t, app, "SELECT count(*) FROM _deletions", nil); n != 0 {
		t.Errorf("%d deletions are left", n)
	}
}

// A small tenant, a webhook and a contact that are deleted after a large tenant do not wait for its end.
func TestSweepInTurns(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	large, small, other := testkit.Tenant(t, app, "Large"), testkit.Tenant(t, app, "Small"),
		testkit.Tenant(t, app, "Other")
	testkit.Crowd(t, app, large, 20_000, nil)
	fill(t, app, small, 3)
	webhook := fill(t, app, other, 3)
	var ada string
	query := app.DB().NewQuery("SELECT id FROM contacts WHERE tenant = {:t}").Bind(dbx.Params{"t": other})
	if err := query.Row(&ada); err != nil {
		t.Fatal(err)
	}
	deleted := []string{large, small, webhook, ada}
	for i, collection := range []string{"tenants", "tenants", "webhooks", "contacts"} {
		if err := remove(t, app, collection, deleted[i]); err != nil {
			t.Fatal(err)
		}
	}
	testkit.FanOut(t, app)
	testkit.Execute(t, app, "CREATE TABLE done (record TEXT, others INT)", nil)
	testkit.Execute(t, app, "CREATE TRIGGER done AFTER DELETE ON _deletions "+
		"BEGIN INSERT INTO done SELECT OLD.record, count(*) FROM contacts; END", nil)
	if err := retention.SweepBy(t.Context(), app, testkit.Deliveries(app), 10*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	for _, record := range deleted {
		n := count(t, app, "SELECT others FROM done WHERE record = {:record}", dbx.Params{"record": record})
		if isLast := record == large; isLast != (n < 1_000) {
			t.Errorf("when %s was done, %d contacts were left", record, n)
		}
	}
}

// Deletions treat the relations of admins as PocketBase does.
func TestAdminRelations(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	tenantID := testkit.Tenant(t, app, "Acme")
	webhook := fill(t, app, tenantID, 2)
	var contactID string
	if err := app.DB().Select("id").From("contacts").Limit(1).Row(&contactID); err != nil {
		t.Fatal(err)
	}
	owners := map[string]string{"tenants": tenantID, "webhooks": webhook, "contacts": contactID}
	for target, owner := range owners {
		testkit.AddRelated(t, app, target+"Required", target, core.RelationField{Name: "owner", Required: true, MaxSelect: 1})
		testkit.AddRelated(t, app, target+"Many", target, core.RelationField{Name: "owner", Required: true, MaxSelect: 9})
		testkit.AddRelated(t, app, target+"Optional", target, core.RelationField{Name: "owner", MaxSelect: 1})
		testkit.AddRelated(t, app, target+"Cascade", target, core.RelationField{Name: "owner", Required: true, MaxSelect: 1, CascadeDelete: true})
		for _, kind := range []string{"Optional", "Cascade", "Many", "Required"} {
			testkit.Record(t, app, target+kind, map[string]any{"owner": owner})
		}
	}
	for target, owner := range owners {
		for _, kind := range []string{"Many", "Required"} {
			var used *fault.Error
			want := "the relation owner of the collection " + target + kind + " requires it"
			if err := remove(t, app, target, owner); !errors.As(err, &used) || used.Code != fault.InUse || used.Message != want {
				t.Errorf("deleting from %s, which %s requires: %v", target, target+kind, err)
			}
			if _, err := app.DB().Delete(target+kind, dbx.NewExp("true")).Execute(); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, target := range []string{"contacts", "webhooks", "tenants"} {
		if err := remove(t, app, target, owners[target]); err != nil {
			t.Errorf("deleting from %s: %v", target, err)
		}
	}
	if err := retention.Sweep(t.Context(), app, testkit.Deliveries(app)); err != nil {
		t.Fatal(err)
	}
	for target := range owners {
		if n := count(t, app, "SELECT count(*) FROM {{"+target+"Cascade}}", nil); n != 0 {
			t.Errorf("a record that cascades from %s is left", target)
		}
		if n := count(t, app, "SELECT count(*) FROM {{"+target+"Optional}} WHERE [[owner]] = ''", nil); n != 1 {
			t.Errorf("an optional relation to %s still has the deleted record", target)
		}
	}
}

// Deleting a webhook does not wait until its deliveries are deleted.
func TestSweepWebhook(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	tenantID := testkit.Tenant(t, app, "Acme")
	webhook := fill(t, app, tenantID, 5)
	if err := remove(t, app, "webhooks", webhook); err != nil {
		t.Fatal(err)
	}
	if n := count(t, app, "SELECT count(*) FROM deliveries", nil); n != 5 {
		t.Errorf("%d deliveries are left after the transaction of the deletion", n)
	}
	if err := retention.Sweep(t.Context(), app, testkit.Deliveries(app)); err != nil {
		t.Fatal(err)
	}
	if n := count(t, app, "SELECT count(*) FROM deliveries", nil); n != 0 {
		t.Errorf("%d deliveries are left", n)
	}
	if n := count(t, app, "SELECT count(*) FROM contacts", nil); n != 5 {
		t.Errorf("%d contacts are left", n)
	}
}

// The sweeper erases a contact with many events once they are fanned out.
func TestSweepContact(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	tenantID := testkit.Tenant(t, app, "Acme")
	created, err := testkit.Create(app, tenantID, contact.Changes{"name": "Grace", "email": "grace@example.com"})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 150 {
		if _, _, err := testkit.Update(app, tenantID, created.ID, contact.Changes{"company": fmt.Sprint("Navy ", i)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := remove(t, app, "contacts", created.ID); err != nil {
		t.Fatal(err)
	}
	const mentions = "SELECT count(*) FROM events WHERE payload LIKE '%grace@example.com%'"
	for range 2 { // events that are yet to be fanned out wait, and so does the deletion
		if err := retention.Sweep(t.Context(), app, testkit.Deliveries(app)); err != nil {
			t.Fatal(err)
		}
		if n := count(t, app, mentions, nil); n != 152 || count(t, app, "SELECT count(*) FROM _deletions", nil) != 1 {
			t.Errorf("%d events mention the person before their fan-out", n)
		}
	}
	testkit.Sweep(t, app)
	if n := count(t, app, "SELECT count(*) FROM _deletions", nil); n != 0 {
		t.Errorf("%d deletions are left", n)
	}
	if n := count(t, app, mentions, nil); n != 0 {
		t.Errorf("%d events mention the person", n)
	}
}

// Requests that are erased after the deletion of their tenant count their bytes again, and a sweep leaves none of that.
func TestSweepForgetsCountedBytes(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	tenantID := testkit.Tenant(t, app, "Acme")
	fill(t, app, tenantID, 2)
	if err := remove(t, app, "tenants", tenantID); err != nil {
		t.Fatal(err)
	}
	testkit.Execute(t, app, "UPDATE inbound_requests SET body = '' WHERE tenant = {:tenant}", dbx.Params{"tenant": tenantID})
	counted := func() int {
		return count(t, app, "SELECT count(*) FROM _stored WHERE tenant = {:tenant}", dbx.Params{"tenant": tenantID})
	}
	if counted() != 1 {
		t.Fatal("nothing is counted again")
	}
	if err := retention.Sweep(t.Context(), app, testkit.Deliveries(app)); err != nil {
		t.Fatal(err)
	}
	if n := counted(); n != 0 {
		t.Errorf("%d rows count the bytes of the deleted tenant", n)
	}
}

// The sweeper sweeps records that were deleted before it started.
func TestSweeper(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	tenantID := testkit.Tenant(t, app, "Acme")
	fill(t, app, tenantID, 1)
	second := testkit.Tenant(t, app, "Second")
	fill(t, app, second, 1)
	if err := remove(t, app, "tenants", tenantID); err != nil {
		t.Fatal(err)
	}
	sweeper := retention.NewSweeper(app, testkit.Deliveries(app))
	sweeper.Start()
	t.Cleanup(func() { sweeper.Stop() })
	testkit.Eventually(t, "the sweep of an earlier deletion", func() bool { return rows(t, app, tenantID) == 0 })
	if err := remove(t, app, "tenants", second); err != nil {
		t.Fatal(err)
	}
	sweeper.Wake()
	testkit.Eventually(t, "the sweep of a later deletion", func() bool { return rows(t, app, second) == 0 })
}

// Prune deletes old events with their deliveries, inbound requests and remembered responses, and keeps recent ones.
func TestPrune(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	tenantID := testkit.Tenant(t, app, "Acme")
	fill(t, app, tenantID, 1)
	cut := time.Now().UTC().Add(-30 * 24 * time.Hour)
	for _, statement := range []string{
		"UPDATE deliveries SET status = 'delivered'",
		"UPDATE events SET created = {:old}",
		"UPDATE inbound_requests SET created = {:old}",
		"UPDATE _idempotency SET created = {:old}",
	} {
		params := dbx.Params{"old": cut.Add(-time.Hour).Format(types.DefaultDateLayout)}
		if _, err := app.NonconcurrentDB().NewQuery(statement).Bind(params).Execute(); err != nil {
			t.Fatal(err)
		}
	}
	fill(t, app, testkit.Tenant(t, app, "Young"), 1)
	left := func(want int) {
		t.Helper()
		for _, table := range []string{"events", "deliveries", "inbound_requests", "_idempotency"} {
			if n := count(t, app, "SELECT count(*) FROM {{"+table+"}}", nil); n != want {
				t.Errorf("%d rows of %s are left, want %d", n, table, want)
			}
		}
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if err := retention.Prune(cancelled, app, testkit.Deliveries(app), cut); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	left(2)
	if err := retention.Prune(t.Context(), app, testkit.Deliveries(app), cut); err != nil {
		t.Error(err)
	}
	left(1)
}
