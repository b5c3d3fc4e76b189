package move_test

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact"
	"contactbase/internal/event"
	"contactbase/internal/move"
	"contactbase/internal/sqlite"
	"contactbase/internal/tenant"
	"contactbase/internal/testkit"
)

const (
	passphrase = "a long passphrase"
	workFactor = 10
	room       = 128 << 20
)

func silent(int, int) {}

// source is an installation with a tenant that has rows in every table.
type source struct {
	app    core.App
	tenant string
	key    string

	workFactor int
}

func newSource(t testing.TB, contacts int) *source {
	t.Helper()
	app := testkit.NewApp(t)
	s := &source{app: app, tenant: testkit.Tenant(t, app, "Acme"), workFactor: workFactor}
	s.key = testkit.Key(t, app, s.tenant)
	other := testkit.Tenant(t, app, "Other")
	write := func(tenant string, i int) string {
		c, err := testkit.Create(app, tenant, contact.Changes{"name": fmt.Sprintf("Zoë <%d>", i), "email": fmt.Sprintf("p%d@example.com", i), "externalId": fmt.Sprint(i)})
		if err != nil {
			t.Fatal(err)
		}
		return c.ID
	}
	write(s.tenant, 0) // an event without recipients
	hook := testkit.Webhook(t, app, s.tenant, "https://hooks.example.com", "a secret of mine")
	testkit.Execute(t, app, "UPDATE webhooks SET olderSecrets = '[]', sealedHeaders = '{\"authorization\":\"Bearer very private\"}' WHERE id = {:id}", dbx.Params{"id": hook})
	testkit.Inbound(t, app, s.tenant, "full", map[string]any{"verifySecret": "another secret, longer"})
	for i, email := range []string{"ada@example.com", "link@portal.invalid"} {
		testkit.Record(t, app, "tenant_members", map[string]any{"tenant": s.tenant, "role": "admin", "email": email, "password": "a long password", "link": i == 1})
	}
	for i := 1; i < contacts; i++ {
		id := write(s.tenant, i)
		write(other, i)
		if i%7 == 0 {
			if _, _, err := testkit.Update(app, s.tenant, id, contact.Changes{"company": "Acme"}); err != nil {
				t.Fatal(err)
			}
		}
		if i%11 == 0 {
			if err := testkit.Delete(app, id); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := testkit.Deliveries(app).CatchUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	testkit.Execute(t, app, "UPDATE deliveries SET status = 'delivered', attempts = 1 WHERE rowid % 3 = 0", nil)
	// the oldest event has been deleted
	testkit.Execute(t, app, "DELETE FROM events WHERE rowid = (SELECT min(rowid) FROM events WHERE tenant = {:tenant})", dbx.Params{"tenant": s.tenant})
	return s
}

func (s *source) freeze(t testing.TB) {
	t.Helper()
	if changed, err := move.Freeze(t.Context(), s.app, testkit.Deliveries(s.app), s.tenant); err != nil || !changed {
		t.Fatal(changed, err)
	}
}

func (s *source) export(t testing.TB) []byte {
	t.Helper()
	archive, err := s.tryExport(t)
	if err != nil {
		t.Fatal(err)
	}
	return archive
}

func (s *source) tryExport(t testing.TB) ([]byte, error) {
	t.Helper()
	var archive bytes.Buffer
	_, err := (&move.Source{App: s.app, Tenant: s.tenant, Passphrase: passphrase, WorkFactor: s.workFactor, Room: room, Progress: silent}).Export(t.Context(), &archive)
	return archive.Bytes(), err
}

// newTarget returns an installation with its own active tenant.
func newTarget(t testing.TB) core.App {
	t.Helper()
	app := testkit.NewApp(t)
	resident := testkit.Tenant(t, app, "Resident")
	testkit.Webhook(t, app, resident, "https://hooks.example.com", "")
	for range 3 {
		write := &event.Event{Kind: event.ContactUpdated, TenantID: resident, Data: struct{}{}}
		if err := testkit.WriteEvent(app, write, time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	return app
}

func importInto(ctx context.Context, t testing.TB, app core.App, archive []byte, change func(*move.Target)) error {
	t.Helper()
	g := &move.Target{App: app, Bounds: tenant.DefaultBounds, Passphrase: passphrase, Room: room, Trusted: true, Progress: silent}
	if change != nil {
		change(g)
	}
	_, err := g.Import(ctx, bytes.NewReader(archive))
	return err
}

// what a tenant has, in a meaningful order
var owned = map[string]string{
	"tenants":          "SELECT * FROM tenants WHERE id = ?",
	"contacts":         "SELECT c.*, s.email, s.text FROM contacts c JOIN _contactSearch s ON s.contact = c.id WHERE c.tenant = ? ORDER BY s.seq",
	"members":          "SELECT id, tenant, role, email, password, name, notify, verified, created FROM tenant_members WHERE tenant = ? AND link = 0",
	"api_keys":         "SELECT * FROM api_keys WHERE tenant = ? ORDER BY rowid",
	"webhooks":         "SELECT * FROM webhooks WHERE tenant = ? ORDER BY rowid",
	"inbound_webhooks": "SELECT * FROM inbound_webhooks WHERE tenant = ? ORDER BY rowid",
	"inbound_requests": "SELECT * FROM inbound_requests WHERE tenant = ? ORDER BY rowid",
	"people":           "SELECT p.* FROM inbound_requests r JOIN _inboundPeople p ON p.request = r.id WHERE r.tenant = ? ORDER BY 1, 2",
	"crowds":           "SELECT * FROM _inboundCrowds WHERE tenant = ? ORDER BY request",
	"answers":          "SELECT * FROM _idempotency WHERE tenant = ? ORDER BY key",
	"events":           "SELECT * FROM events WHERE tenant = ? ORDER BY rowid",
	"gone":             "SELECT * FROM _eventsGone WHERE tenant = ?",
	"stored":           "SELECT * FROM _stored WHERE tenant = ?",
	"deliveries":       "SELECT * FROM deliveries WHERE tenant = ? ORDER BY rowid",
}

func rowsOf(t *testing.T, app core.App, query, tenantID string) string {
	t.Helper()
	rows, err := sqlite.Direct(app.ConcurrentDB()).Query(query, tenantID)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for rows.Next() {
		values, into := make([]sql.NullString, len(columns)), make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(&all, values)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return all.String()
}

func equal(t *testing.T, s *source, target core.App) {
	t.Helper()
	for name, query := range owned {
		there, here := rowsOf(t, s.app, query, s.tenant), rowsOf(t, target, query, s.tenant)
		if there != here {
			t.Errorf("%s are\n%.2000s\nand not\n%.2000s", name, here, there)
		}
		if there == "" && name != "inbound_requests" && name != "people" && name != "crowds" && name != "answers" &&
			name != "stored" {
			t.Errorf("there are no %s", name)
		}
	}
}

// receive adds inbound and idempotent requests.
func (s *source) receive(t *testing.T) {
	t.Helper()
	now := time.Now().UTC().Format("2006-01-02 15:04:05.000Z")
	testkit.Execute(t, s.app, "INSERT INTO inbound_requests (id, inbound, tenant, contentType, body, status, result, created) SELECT 'request00000000', id, tenant, 'application/json', '{}', 200, '{}', {:now} FROM inbound_webhooks", dbx.Params{"now": now})
	testkit.Execute(t, s.app, "INSERT INTO inbound_requests (id, inbound, tenant, contentType, body, status, result, created) "+
		"SELECT 'request00000001', inbound, tenant, contentType, x'1f8b0800', status, result, created FROM inbound_requests", nil)
	testkit.Execute(t, s.app, "INSERT INTO _inboundPeople VALUES ('one', 'request00000000'), ('two', 'request00000000')", nil)
	testkit.Execute(t, s.app,
		"INSERT INTO _inboundCrowds SELECT tenant, id, 'contact00000001contact00000002' FROM inbound_requests WHERE id = 'request00000000'", nil)
	testkit.Execute(t, s.app, "INSERT INTO _idempotency (key, request, status, location, body, contact, created, tenant) VALUES ('k', 'r', 201, '/', '{}', '', {:now}, {:tenant})", dbx.Params{"now": now, "tenant": s.tenant})
}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	s := newSource(t, 400)
	s.receive(t)
	s.freeze(t)
	archive := s.export(t)
	for _, secret := range []string{"a secret of mine", "another secret, longer", "very private", "p1@example.com"} {
		if bytes.Contains(archive, []byte(secret)) || !bytes.Contains(unsealed(t, archive), []byte(secret)) {
			t.Errorf("the archive has %q in plain text, or not at all", secret)
		}
	}
	target := newTarget(t)
	before := testkit.Count(t, target, "SELECT count(*) FROM deliveries", nil)
	if err := importInto(t.Context(), t, target, archive, nil); err != nil {
		t.Fatal(err)
	}
	equal(t, s, target)
	// nothing is delivered again, and the resident's pending events are fanned out
	if err := testkit.Deliveries(target).CatchUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	equal(t, s, target)
	if n := testkit.Count(t, target, "SELECT count(*) FROM deliveries WHERE tenant != {:tenant}", dbx.Params{"tenant": s.tenant}); n != before+3 {
		t.Errorf("the resident has %d deliveries", n)
	}
	s.sameFeed(t, target)
	// people sign in again, with the same passwords; portal links do not move
	const keys = "SELECT group_concat(tokenKey) FROM tenant_members WHERE tenant = {:tenant} AND link = 0"
	if there, here := str(t, s.app, keys, s.tenant), str(t, target, keys, s.tenant); len(here) != len(there) || here == there {
		t.Errorf("sessions are signed with %q, and before with %q", here, there)
	}
	if n := testkit.Count(t, target, "SELECT count(*) FROM tenant_members", nil); n != 1 {
		t.Errorf("%d members came", n)
	}
	if _, err := testkit.Create(target, s.tenant, contact.Changes{"name": "New"}); err != nil {
		t.Errorf("the tenant takes no contact: %v", err)
	}
	if err := importInto(t.Context(), t, target, archive, nil); err == nil || !strings.Contains(err.Error(), "already exists in this installation") {
		t.Errorf("a second import ends with %v", err)
	}
}

// sameFeed compares what clients read after their cursors.
func (s *source) sameFeed(t *testing.T, target core.App) {
	t.Helper()
	for _, after := range []string{event.Oldest, "evt_" + str(t, s.app, "SELECT id FROM events WHERE tenant = {:tenant} ORDER BY rowid LIMIT 1 OFFSET 40", s.tenant)} {
		there, err := event.ReadPage(s.app, s.tenant, after, event.Filter{}, 100)
		if err != nil {
			t.Fatal(err)
		}
		here, err := event.ReadPage(target, s.tenant, after, event.Filter{}, 100)
		if err != nil {
			t.Fatal(err)
		}
		if len(here.Events) != 100 || here.Next != there.Next {
			t.Errorf("behind %q there are %d events up to %s, not %s", after, len(here.Events), here.Next, there.Next)
		}
	}
}

func str(t *testing.T, app core.App, query, tenantID string) (value string) {
	t.Helper()
	if err := app.DB().NewQuery(query).Bind(dbx.Params{"tenant": tenantID}).Row(&value); err != nil {
		t.Fatal(err)
	}
	return value
}
