package move_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact"
	"contactbase/internal/delivery"
	"contactbase/internal/event"
	"contactbase/internal/move"
	"contactbase/internal/retention"
	"contactbase/internal/sqlite"
	"contactbase/internal/tenant"
	"contactbase/internal/testkit"
)

const passphrase = "a long passphrase"

func silent(int, int) {}

// source is an installation with a tenant that has some of everything.
type source struct {
	app    core.App
	tenant string
	key    string
}

func newSource(t *testing.T, contacts int) *source {
	t.Helper()
	app := testkit.NewApp(t)
	s := &source{app: app, tenant: testkit.Tenant(t, app, "Acme")}
	s.key = testkit.Key(t, app, s.tenant)
	other := testkit.Tenant(t, app, "Other")
	write := func(tenant string, i int) string {
		c, err := contact.Create(app, tenant, contact.Changes{"name": fmt.Sprintf("Zoë <%d>", i), "email": fmt.Sprintf("p%d@example.com", i), "externalId": fmt.Sprint(i)})
		if err != nil {
			t.Fatal(err)
		}
		return c.ID
	}
	write(s.tenant, 0) // an event that nobody is sent
	hook := testkit.Webhook(t, app, s.tenant, "https://hooks.example.com", "a secret of mine")
	testkit.Execute(t, app, "UPDATE webhooks SET headers = '{\"authorization\":\"Bearer very private\"}' WHERE id = {:id}", dbx.Params{"id": hook})
	testkit.Inbound(t, app, s.tenant, "full", map[string]any{"verifySecret": "another secret"})
	for i := 1; i < contacts; i++ {
		id := write(s.tenant, i)
		write(other, i)
		if i%7 == 0 {
			if _, _, err := contact.Update(app, s.tenant, id, contact.Changes{"company": "Acme"}, nil); err != nil {
				t.Fatal(err)
			}
		}
		if i%11 == 0 {
			if err := contact.Delete(app, s.tenant, id, ""); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := testkit.Deliveries(app).PlaceAll(t.Context(), app); err != nil {
		t.Fatal(err)
	}
	testkit.Execute(t, app, "UPDATE deliveries SET status = 'delivered', attempts = 1 WHERE rowid % 3 = 0", nil)
	// the oldest event is gone
	testkit.Execute(t, app, "DELETE FROM events WHERE rowid = (SELECT min(rowid) FROM events WHERE tenant = {:tenant})", dbx.Params{"tenant": s.tenant})
	return s
}

func (s *source) freeze(t *testing.T) {
	t.Helper()
	if changed, err := move.Freeze(t.Context(), s.app, testkit.Deliveries(s.app), s.tenant); err != nil || !changed {
		t.Fatal(changed, err)
	}
}

func (s *source) export(t *testing.T) []byte {
	t.Helper()
	archive, err := s.tryExport(t)
	if err != nil {
		t.Fatal(err)
	}
	return archive
}

func (s *source) tryExport(t *testing.T) ([]byte, error) {
	t.Helper()
	found, err := tenant.Find(s.app, s.tenant)
	if err != nil {
		t.Fatal(err)
	}
	var archive bytes.Buffer
	_, err = (&move.Source{App: s.app, Tenant: found, Program: "test", Passphrase: passphrase, Progress: silent}).Export(t.Context(), &archive)
	return archive.Bytes(), err
}

// target returns an installation with a busy tenant of its own.
func newTarget(t *testing.T) core.App {
	t.Helper()
	app := testkit.NewApp(t)
	resident := testkit.Tenant(t, app, "Resident")
	testkit.Webhook(t, app, resident, "https://hooks.example.com", "")
	for range 3 {
		write := &event.Event{Kind: event.ContactUpdated, TenantID: resident, Data: struct{}{}}
		if err := event.Write(app, write, time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	return app
}

func open(t *testing.T, archive []byte) *move.Archive {
	t.Helper()
	opened, err := move.Open(bytes.NewReader(archive), int64(len(archive)), passphrase)
	if err != nil {
		t.Fatal(err)
	}
	return opened
}

func importInto(ctx context.Context, t *testing.T, app core.App, archive []byte, change func(*move.Target)) error {
	t.Helper()
	g := &move.Target{App: app, Deliveries: testkit.Deliveries(app), Archive: open(t, archive), Progress: silent}
	if change != nil {
		change(g)
	}
	return g.Import(ctx)
}

// what a tenant has, in the order that counts
var owned = map[string]string{
	"tenants":          "SELECT * FROM tenants WHERE id = ?",
	"contacts":         "SELECT c.*, s.email, s.text FROM contacts c JOIN _contactSearch s ON s.contact = c.id WHERE c.tenant = ? ORDER BY s.seq",
	"api_keys":         "SELECT * FROM api_keys WHERE tenant = ? ORDER BY rowid",
	"webhooks":         "SELECT * FROM webhooks WHERE tenant = ? ORDER BY rowid",
	"inbound_webhooks": "SELECT * FROM inbound_webhooks WHERE tenant = ? ORDER BY rowid",
	"inbound_requests": "SELECT * FROM inbound_requests WHERE tenant = ? ORDER BY rowid",
	"people":           "SELECT p.* FROM inbound_requests r JOIN _inboundPeople p ON p.request = r.id WHERE r.tenant = ? ORDER BY 1, 2",
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
		if there == "" && name != "inbound_requests" && name != "people" && name != "answers" && name != "stored" {
			t.Errorf("there are no %s", name)
		}
	}
}

// receive leaves what inbound calls and repeated requests do.
func (s *source) receive(t *testing.T) {
	t.Helper()
	now := time.Now().UTC().Format("2006-01-02 15:04:05.000Z")
	testkit.Execute(t, s.app, "INSERT INTO inbound_requests (id, inbound, tenant, contentType, body, status, result, created) SELECT 'request00000000', id, tenant, 'application/json', '{}', 200, '{}', {:now} FROM inbound_webhooks", dbx.Params{"now": now})
	testkit.Execute(t, s.app, "INSERT INTO _inboundPeople VALUES ('one', 'request00000000'), ('two', 'request00000000')", nil)
	testkit.Execute(t, s.app, "INSERT INTO _idempotency (key, request, status, location, body, contact, created, tenant) VALUES ('k', 'r', 201, '/', '{}', '', {:now}, {:tenant})", dbx.Params{"now": now, "tenant": s.tenant})
}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	s := newSource(t, 400)
	s.receive(t)
	s.freeze(t)
	archive := s.export(t)
	for _, secret := range []string{"a secret of mine", "another secret", "very private"} {
		if bytes.Contains(unzipped(t, archive), []byte(secret)) {
			t.Errorf("the archive has %q in clear", secret)
		}
	}
	target := newTarget(t)
	before := testkit.Count(t, target, "SELECT count(*) FROM deliveries", nil)
	if err := importInto(t.Context(), t, target, archive, nil); err != nil {
		t.Fatal(err)
	}
	equal(t, s, target)
	// nothing is delivered anew, and what the resident was to get is placed
	if err := testkit.Deliveries(target).PlaceAll(t.Context(), target); err != nil {
		t.Fatal(err)
	}
	equal(t, s, target)
	if n := testkit.Count(t, target, "SELECT count(*) FROM deliveries WHERE tenant != {:tenant}", dbx.Params{"tenant": s.tenant}); n != before+3 {
		t.Errorf("the resident has %d deliveries", n)
	}
	s.sameFeed(t, target)
	if _, err := contact.Create(target, s.tenant, contact.Changes{"name": "New"}); err != nil {
		t.Errorf("the tenant takes no contact: %v", err)
	}
	if err := importInto(t.Context(), t, target, archive, nil); err == nil || !strings.Contains(err.Error(), "is here already") {
		t.Errorf("a second import ends with %v", err)
	}
}

// sameFeed compares what readers see behind their cursors.
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

// An import that is cut off goes on where it was, however often.
func TestResume(t *testing.T) {
	t.Parallel()
	s := newSource(t, 500)
	s.freeze(t)
	archive := s.export(t)
	target := newTarget(t)
	cuts := 0
	for ended := false; !ended; {
		ctx, cut := context.WithCancel(t.Context())
		start := -1
		err := importInto(ctx, t, target, archive, func(g *move.Target) {
			g.Resume = cuts > 0
			g.Progress = func(done, total int) {
				if start < 0 {
					start = done
				}
				if done-start > total/5 {
					cut()
				}
			}
		})
		cut()
		ended = err == nil
		if ended {
			break
		}
		if !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		cuts++
		if err := importInto(t.Context(), t, target, archive, nil); err == nil || !strings.Contains(err.Error(), "--resume") {
			t.Fatalf("without --resume it ends with %v", err)
		}
		if _, err := contact.Create(target, s.tenant, contact.Changes{"name": "New"}); !tenant.IsMoving(err) {
			t.Fatalf("a tenant that arrives takes a contact: %v", err)
		}
		if _, err := tenant.Unfreeze(target, s.tenant); err == nil {
			t.Fatal("a tenant that arrives can be opened")
		}
	}
	if cuts < 3 {
		t.Errorf("it was cut off %d times", cuts)
	}
	equal(t, s, target)
}

// Another archive of the same tenant does not go on with an import.
func TestResumeWithAnotherArchive(t *testing.T) {
	t.Parallel()
	s := newSource(t, 100)
	s.freeze(t)
	target := newTarget(t)
	ctx, cut := context.WithCancel(t.Context())
	err := importInto(ctx, t, target, s.export(t), func(g *move.Target) { g.Progress = func(int, int) { cut() } })
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	err = importInto(t.Context(), t, target, s.export(t), func(g *move.Target) { g.Resume = true })
	if err == nil || !strings.Contains(err.Error(), "of another archive") {
		t.Errorf("it ends with %v", err)
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	s := newSource(t, 20)
	if _, err := s.tryExport(t); err == nil || !strings.Contains(err.Error(), "--freeze") {
		t.Errorf("an open tenant is exported: %v", err)
	}
	s.freeze(t)
	archive := s.export(t)
	if _, err := move.Open(bytes.NewReader(archive), int64(len(archive)), "another passphrase"); !errors.Is(err, move.ErrPassphrase) {
		t.Errorf("another passphrase gives %v", err)
	}
	if _, err := move.Open(bytes.NewReader(archive[:len(archive)/2]), int64(len(archive)/2), passphrase); err == nil {
		t.Error("half an archive opens")
	}
	for at := 100; at < len(archive)-3000; at += len(archive) / 6 {
		target, damaged := newTarget(t), bytes.Clone(archive)
		damaged[at] ^= 0xff
		opened, err := move.Open(bytes.NewReader(damaged), int64(len(damaged)), passphrase)
		if err == nil {
			g := &move.Target{App: target, Deliveries: testkit.Deliveries(target), Archive: opened, Progress: silent}
			err = g.Import(t.Context())
		}
		if err == nil { // what is damaged is said twice
			equal(t, s, target)
			continue
		}
		if n := testkit.Count(t, target, "SELECT count(*) FROM tenants", nil); n != 1 {
			t.Errorf("something of it is there: %v", err)
		}
	}
	taken := newTarget(t)
	testkit.Execute(t, taken, "INSERT INTO contacts (id, tenant, name) VALUES ({:id}, 'somebody', 'x')", dbx.Params{"id": str(t, s.app, "SELECT id FROM contacts WHERE tenant = {:tenant} LIMIT 1", s.tenant)})
	if err := importInto(t.Context(), t, taken, archive, nil); err == nil || !strings.Contains(err.Error(), "belong to somebody else") {
		t.Errorf("an id that is taken gives %v", err)
	}
	if n := testkit.Count(t, taken, "SELECT count(*) FROM _moves", nil); n != 0 {
		t.Error("the import has begun")
	}
}

// A file that was changed is told by its checksum, and a manifest by its seal.
func TestChangedArchives(t *testing.T) {
	t.Parallel()
	s := newSource(t, 20)
	s.freeze(t)
	archive := s.export(t)
	for name, tc := range map[string]struct{ from, to, want string }{
		"contacts.jsonl": {"p1@example.com", "q1@example.com", "contacts.jsonl is not what its manifest says"},
		"events.jsonl":   {"\n", "\n{}\n", "events.jsonl is not what its manifest says"},
		"manifest.json":  {"Acme", "Acne", "does not open this archive"},
	} {
		changed := replaced(t, archive, name, func(text []byte) []byte { return bytes.Replace(text, []byte(tc.from), []byte(tc.to), 1) })
		opened, err := move.Open(bytes.NewReader(changed), int64(len(changed)), passphrase)
		target := newTarget(t)
		if err == nil {
			err = (&move.Target{App: target, Deliveries: testkit.Deliveries(target), Archive: opened, Progress: silent}).Import(t.Context())
		}
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("with another %s it ends with %v", name, err)
		}
		if n := testkit.Count(t, target, "SELECT count(*) FROM tenants", nil); n != 1 {
			t.Errorf("with another %s something is there", name)
		}
	}
}

func TestCustomFields(t *testing.T) {
	t.Parallel()
	s := newSource(t, 20)
	fields := func(app core.App, vip core.Field) {
		t.Helper()
		collection, err := app.FindCollectionByNameOrId("contacts")
		if err != nil {
			t.Fatal(err)
		}
		collection.Fields.Add(vip, &core.JSONField{Name: "tags"}, &core.NumberField{Name: "score"}, &core.SelectField{Name: "kinds", MaxSelect: 2, Values: []string{"a", "b"}})
		if err := app.Save(collection); err != nil {
			t.Fatal(err)
		}
	}
	fields(s.app, &core.BoolField{Name: "vip"})
	testkit.Execute(t, s.app, "UPDATE contacts SET vip = 1, tags = '{\"a\": [1.0, null]}', score = 1.5, kinds = '[\"a\"]' WHERE rowid % 2 = 0", nil)
	s.freeze(t)
	archive := s.export(t)
	target := newTarget(t)
	err := importInto(t.Context(), t, target, archive, nil)
	for _, name := range []string{"contacts.vip bool", "contacts.tags json", "contacts.score number", "contacts.kinds select[]"} {
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("the error does not name %s: %v", name, err)
		}
	}
	fields(target, &core.TextField{Name: "vip"})
	if err := importInto(t.Context(), t, target, archive, nil); err == nil || !strings.Contains(err.Error(), "contacts.vip is bool there and text here") {
		t.Errorf("another type gives %v", err)
	}
	target = newTarget(t)
	fields(target, &core.BoolField{Name: "vip"})
	if err := importInto(t.Context(), t, target, archive, nil); err != nil {
		t.Fatal(err)
	}
	equal(t, s, target)
}

// Freezing waits for what is in flight, and nothing is claimed afterwards.
func TestFreezeDrains(t *testing.T) {
	t.Parallel()
	s := newSource(t, 30)
	queue := testkit.Deliveries(testkit.Reopen(t, s.app))
	claim := func() []*delivery.Job {
		t.Helper()
		jobs, err := queue.Claim(t.Context(), delivery.ClaimOptions{Now: time.Now().Add(time.Second), Lease: time.Minute, Limit: 5, PerEndpoint: 5})
		if err != nil {
			t.Fatal(err)
		}
		return jobs
	}
	jobs := claim()
	if len(jobs) == 0 {
		t.Fatal("nothing is claimed")
	}
	frozen := make(chan error, 1)
	go func() {
		_, err := move.Freeze(t.Context(), testkit.Reopen(t, s.app), testkit.Deliveries(s.app), s.tenant)
		frozen <- err
	}()
	await(t, "the freeze", func() bool {
		return testkit.Count(t, s.app, "SELECT count(*) FROM _moves", nil) == 1
	})
	if more := claim(); len(more) > 0 {
		t.Errorf("%d are claimed of a frozen tenant", len(more))
	}
	select {
	case err := <-frozen:
		t.Fatalf("it did not wait: %v", err)
	case <-time.After(3 * 100 * time.Millisecond):
	}
	var results []delivery.Result
	for _, job := range jobs {
		results = append(results, delivery.Result{
			Job: job, Attempt: &delivery.Attempt{Number: job.Attempt, Started: time.Now(), Outcome: delivery.Outcome{Status: 410}},
			Decision: delivery.Decision{Status: delivery.StatusFailed, Disable: "It answered 410."},
		})
	}
	if err := queue.Complete(t.Context(), results, time.Now()); err != nil {
		t.Fatal(err)
	}
	if err := <-frozen; err != nil {
		t.Fatal(err)
	}
	if n := testkit.Count(t, s.app, "SELECT count(*) FROM webhooks WHERE disabled = 1", nil); n != 1 {
		t.Error("the webhook that is gone is not disabled")
	}
}

// guards returns how many triggers contacts have.
func guards(t *testing.T, app core.App) int {
	t.Helper()
	return testkit.Count(t, app, "SELECT count(*) FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = 'contacts'", nil)
}

// The triggers on contacts are there while a tenant arrives.
func TestGuardsOfAnImport(t *testing.T) {
	t.Parallel()
	s := newSource(t, 30)
	s.freeze(t)
	archive, target, met := s.export(t), newTarget(t), 0
	err := importInto(t.Context(), t, target, archive, func(g *move.Target) {
		g.Progress = func(int, int) { met = max(met, guards(t, target)) }
	})
	if left := guards(t, target); err != nil || met != 3 || left != 0 {
		t.Errorf("while it arrives there are %d triggers, and then %d: %v", met, left, err)
	}
}

// The triggers on contacts are there while a tenant moves: until it is opened again or deleted.
func TestGuardsComeAndGo(t *testing.T) {
	t.Parallel()
	s := newSource(t, 30)
	expect := func(when string, want int) {
		t.Helper()
		if got := guards(t, s.app); got != want {
			t.Errorf("%s there are %d triggers, not %d", when, got, want)
		}
	}
	expect("before", 0)
	s.freeze(t)
	expect("while it moves", 3)
	if _, err := s.app.DB().NewQuery("UPDATE contacts SET name = 'x'").Execute(); !tenant.IsMoving(err) {
		t.Errorf("the console of SQL may write: %v", err)
	}
	if _, err := tenant.Unfreeze(s.app, s.tenant); err != nil {
		t.Fatal(err)
	}
	expect("after unfreezing", 0)
	s.freeze(t)
	record, err := s.app.FindRecordById("tenants", s.tenant)
	if err == nil {
		err = s.app.Delete(record)
	}
	if err == nil {
		err = retention.Sweep(t.Context(), s.app, testkit.Deliveries(s.app))
	}
	if err != nil {
		t.Fatal(err)
	}
	expect("when it is deleted", 0)
	if n := testkit.Count(t, s.app, "SELECT count(*) FROM contacts WHERE tenant = {:tenant}", dbx.Params{"tenant": s.tenant}); n != 0 {
		t.Errorf("%d contacts are left", n)
	}
}

func await(t *testing.T, what string, is func() bool) {
	t.Helper()
	for until := time.Now().Add(10 * time.Second); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatalf("%s does not come", what)
		}
	}
}
