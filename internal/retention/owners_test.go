package retention_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact"
	"contactbase/internal/contact/imports"
	"contactbase/internal/delivery"
	"contactbase/internal/event"
	"contactbase/internal/inbound"
	"contactbase/internal/member"
	"contactbase/internal/notice"
	"contactbase/internal/retention"
	"contactbase/internal/sqlite"
	"contactbase/internal/tenant"
	"contactbase/internal/testkit"
)

// late is what is under way while its tenant is deleted.
type late struct {
	app       core.App
	tenant    string
	webhook   string
	contacts  []string
	inbound   *inbound.Webhook
	result    delivery.Result // of a delivery
	sheet     *imports.File
	member    *core.Record
	record    *core.Record // of a contact
	receiving *inbound.Request
}

func newLate(t *testing.T) *late {
	t.Helper()
	l := &late{app: testkit.NewApp(t)}
	l.tenant = testkit.Tenant(t, l.app, "Gone")
	l.webhook = fill(t, l.app, l.tenant, 2)
	if err := l.app.DB().Select("id").From("contacts").Column(&l.contacts); err != nil {
		t.Fatal(err)
	}
	record, err := l.app.FindRecordById(contact.CollectionName, l.contacts[0])
	if err != nil {
		t.Fatal(err)
	}
	l.record = record
	found, err := inbound.FindByToken(l.app, testkit.Inbound(t, l.app, l.tenant, "full", nil))
	if err != nil {
		t.Fatal(err)
	}
	l.inbound = found
	if l.receiving, err = inbound.Read(l.app, found, "application/json", []byte(`{"name":"Grace"}`)); err != nil {
		t.Fatal(err)
	}
	names := strings.NewReader("name\nAda\n")
	if l.sheet, err = imports.Open(t.Context(), l.app, imports.Source{Name: "a.csv"}, nil, names); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.sheet.Close() })
	l.member = testkit.Record(t, l.app, member.CollectionName, map[string]any{
		"tenant": l.tenant, "role": member.RoleAdmin, "email": "ada@example.com", "password": "a long password",
	})
	testkit.Write(t, l.app, l.tenant, l.contacts[0], event.ContactUpdated)
	jobs, err := testkit.Deliveries(l.app).Fetch(t.Context(),
		delivery.Fetch{Now: time.Now(), Limits: map[string]int{l.webhook: 1}})
	if err != nil || len(jobs) != 1 {
		t.Fatalf("fetched %+v (%v)", jobs, err)
	}
	l.result = answered(jobs[0])
	return l
}

// answered is the result of an attempt that the receiver answered with 410.
func answered(job *delivery.Job) delivery.Result {
	attempt := &delivery.Attempt{DeliveryID: job.DeliveryID, Number: job.Attempt, Started: time.Now(), Status: 410,
		RequestHeaders: "{}", ResponseHeaders: "{}"}
	return delivery.Result{Job: job, Attempt: attempt,
		Decision: delivery.Decision{Status: delivery.StatusFailed, Disable: "It is gone."}}
}

// all counts the rows of all tables with tenants' rows, and of those that PocketBase has about members. The audit log
// outlives tenants.
func (l *late) all(t *testing.T) map[string]int {
	t.Helper()
	counts := map[string]int{}
	for _, table := range tenant.Tables {
		if table.Deletion != tenant.Kept {
			counts[table.Name] = count(t, l.app, "SELECT count(*) FROM {{"+table.Name+"}}", nil)
		}
	}
	for _, table := range []string{"_otps", "_mfas", "_externalAuths", "_authOrigins"} {
		counts[table] = count(t, l.app, "SELECT count(*) FROM {{"+table+"}}", nil)
	}
	return counts
}

// ofAccount is a new record of PocketBase's about the member.
func (l *late) ofAccount(t *testing.T, collection string, values map[string]any) *core.Record {
	t.Helper()
	c, err := l.app.FindCachedCollectionByNameOrId(collection)
	if err != nil {
		t.Fatal(err)
	}
	record := core.NewRecord(c)
	record.Set("collectionRef", l.member.Collection().Id)
	record.Set("recordRef", l.member.Id)
	record.Load(values)
	return record
}

// lateWrites are the writers that may read before a tenant is deleted and write afterwards. They may return an error.
var lateWrites = map[string]func(t *testing.T, l *late) error{
	"the result of a delivery": func(t *testing.T, l *late) error {
		_, err := testkit.Deliveries(l.app).Commit(t.Context(),
			delivery.Commit{Now: time.Now(), Results: []delivery.Result{l.result}})
		return err
	},
	"a fan-out": func(t *testing.T, l *late) error { return testkit.Deliveries(l.app).CatchUp(t.Context()) },
	"a ping": func(_ *testing.T, l *late) error {
		return testkit.Deliveries(l.app).Ping(l.webhook, time.Now(), answered)
	},
	"a new contact": func(_ *testing.T, l *late) error {
		_, err := testkit.Create(l.app, l.tenant, contact.Changes{"name": "Late"})
		return err
	},
	"a superuser's change of a contact": func(_ *testing.T, l *late) error {
		l.record.Set("name", "Late")
		return l.app.Save(l.record)
	},
	"a superuser's deletion of a contact": func(_ *testing.T, l *late) error { return l.app.Delete(l.record) },
	"a merge": func(_ *testing.T, l *late) error {
		return l.app.RunInTransaction(func(tx core.App) error {
			_, err := (&contact.Merge{ID: l.contacts[0], From: l.contacts[1:]}).Apply(tx, l.tenant)
			return err
		})
	},
	"an inbound request": func(t *testing.T, l *late) error {
		return l.receiving.Transact(t.Context(), l.app, func(tx core.App) error {
			_, err := l.receiving.Receive(tx, time.Now())
			return err
		})
	},
	"a rejected inbound request": func(t *testing.T, l *late) error {
		return inbound.Record(t.Context(), l.app, l.inbound, "application/json", []byte(`"ada@example.com"`), 400,
			"nothing", time.Now())
	},
	"an import": func(t *testing.T, l *late) error {
		_, err := l.sheet.Store(t.Context(), l.app, l.tenant)
		return err
	},
	"a notice": func(_ *testing.T, l *late) error {
		_, err := sqlite.Write(l.app, func(tx sqlite.Reader) ([]sqlite.Statement, error) {
			return notice.Insert(tx,
				notice.Notice{Kind: event.WebhookFailing, Subject: l.webhook, Episode: "1", Tenant: l.tenant}, time.Now())
		})
		return err
	},
	"a portal link": func(_ *testing.T, l *late) error {
		_, err := member.NewLink(l.app, l.tenant, member.LinkOptions{Role: member.RoleViewer, Duration: time.Hour},
			time.Now())
		return err
	},
	"a freeze": func(_ *testing.T, l *late) error {
		return l.app.RunInTransaction(func(tx core.App) error {
			_, err := tenant.Freeze(tx, l.tenant)
			return err
		})
	},
	"a one-time password": func(t *testing.T, l *late) error {
		return l.app.SaveNoValidate(l.ofAccount(t, "_otps", map[string]any{"password": "12345678"}))
	},
	"a second factor": func(t *testing.T, l *late) error {
		return l.app.SaveNoValidate(l.ofAccount(t, "_mfas", map[string]any{"method": "password"}))
	},
	"a place of a sign-in": func(t *testing.T, l *late) error {
		return l.app.SaveNoValidate(l.ofAccount(t, "_authOrigins", map[string]any{"fingerprint": "x"}))
	},
	"an account of another service": func(t *testing.T, l *late) error {
		return l.app.SaveNoValidate(l.ofAccount(t, "_externalAuths", map[string]any{"provider": "google", "providerId": "1"}))
	},
}

// What is being written while its tenant is deleted adds no row, neither before the sweeper has deleted the
// others nor afterwards.
func TestNothingIsAddedAfterADeletion(t *testing.T) {
	t.Parallel()
	for name, write := range lateWrites {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLate(t)
			if err := remove(t, l.app, "tenants", l.tenant); err != nil {
				t.Fatal(err)
			}
			before := l.all(t)
			outcome := write(t, l)
			for table, n := range l.all(t) {
				if n > before[table] {
					t.Errorf("%d rows are added to %s after the deletion (%v)", n-before[table], table, outcome)
				}
			}
			for range 2 {
				if err := retention.Sweep(t.Context(), l.app, testkit.Deliveries(l.app)); err != nil {
					t.Fatal(err)
				}
				for table, n := range l.all(t) {
					if n > 0 {
						t.Errorf("%d rows of %s are left", n, table)
					}
				}
				_ = write(t, l) // after the sweep
			}
		})
	}
}

// A result that comes while the deliveries of a webhook are being deleted adds nothing to them.
func TestNoResultOfADeletedWebhook(t *testing.T) {
	t.Parallel()
	l := newLate(t)
	if err := remove(t, l.app, "webhooks", l.webhook); err != nil {
		t.Fatal(err)
	}
	commit := delivery.Commit{Now: time.Now(), Results: []delivery.Result{l.result}}
	if _, err := testkit.Deliveries(l.app).Commit(t.Context(), commit); err != nil {
		t.Fatal(err)
	}
	const delivered = "SELECT (SELECT count(*) FROM deliveries) * 10 + (SELECT count(*) FROM delivery_attempts)"
	if n := count(t, l.app, delivered, nil); n != 20 {
		t.Errorf("10 * deliveries + attempts are %d, not those 2 of before the deletion", n)
	}
	if err := retention.Sweep(t.Context(), l.app, testkit.Deliveries(l.app)); err != nil {
		t.Fatal(err)
	}
	const left = "SELECT (SELECT count(*) FROM deliveries) + (SELECT count(*) FROM delivery_attempts)"
	if n := count(t, l.app, left, nil); n != 0 {
		t.Errorf("%d rows are left", n)
	}
}

// Rows that earlier versions have left without an owner go with the upgrade: at once, or by the sweeper. Others stay.
func TestOrphansOfEarlierVersions(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	fill(t, app, testkit.Tenant(t, app, "Kept"), 3)
	kept := ownerless(t, app)
	const rows = "SELECT (SELECT count(*) FROM deliveries) + (SELECT count(*) FROM _contactSearch) + " +
		"(SELECT count(*) FROM events)"
	before := count(t, app, rows, nil)
	for _, table := range tenant.Tables {
		if slices.Contains([]string{"_mergedContacts", "_sources", "_importCreated", "_failingWebhooks"}, table.Name) { // they had none
			continue
		}
		for column := range table.Owners {
			insertOrphan(t, app, &table, column)
		}
	}
	for _, table := range []string{"_externalAuths", "_mfas", "_otps", "_authOrigins"} {
		testkit.Execute(t, app, "INSERT INTO {{"+table+"}} (id, collectionRef, recordRef) "+
			"SELECT 'lost', id, 'gone' FROM _collections WHERE name = 'tenant_members'", nil)
	}
	all := core.AppMigrations.Items()
	at := slices.IndexFunc(all, func(m *core.Migration) bool { return m.File == "1760000041_orphans.go" })
	testkit.Execute(t, app, "CREATE TABLE _fanOutAside (tenant TEXT)", nil) // which the schema had then
	if err := app.RunInTransaction(all[at].Up); err != nil {
		t.Fatal(err)
	}
	if err := retention.Sweep(t.Context(), app, testkit.Deliveries(app)); err != nil {
		t.Fatal(err)
	}
	if left := ownerless(t, app); left != kept {
		t.Errorf("rows without an owner:\n%s", left)
	}
	after := count(t, app, rows, nil)
	if after != before {
		t.Errorf("of %d rows with an owner, %d are left", before, after)
	}
	if n := count(t, app, "SELECT count(*) FROM _deletions", nil); n != 0 {
		t.Errorf("%d deletions are left", n)
	}
}

// insertOrphan inserts a row whose owner in a column does not exist.
func insertOrphan(t *testing.T, app core.App, table *tenant.Table, column string) {
	t.Helper()
	gone := "gone" + table.Name + column
	columns, values := []string{"`" + column + "`"}, []string{"{:gone}"}
	var info []struct {
		Name    string  `db:"name"`
		Type    string  `db:"type"`
		NotNull bool    `db:"notnull"`
		Default *string `db:"dflt_value"`
		Key     int     `db:"position"` // dbx reads "pk" as its own tag
	}
	query := app.DB().NewQuery("SELECT *, pk AS position FROM pragma_table_info({:table})")
	if err := query.Bind(dbx.Params{"table": table.Name}).All(&info); err != nil {
		t.Fatal(err)
	}
	for _, c := range info {
		value := ""
		switch owner, owned := table.Owners[c.Name]; {
		case c.Name == column:
		case owned: // the others exist, if any
			value = "coalesce((SELECT min(`id`) FROM `" + owner + "`), 'x')"
		case c.Name == "state":
			value = "'frozen'"
		case c.Name == "tokenKey", c.Name == "hash", c.Name == "tokenHash", c.Key > 0 && c.Type == "TEXT":
			value = "{:gone} || '" + c.Name + "'"
		case c.NotNull && c.Default == nil:
			value = "1"
		}
		if value != "" {
			columns, values = append(columns, "`"+c.Name+"`"), append(values, value)
		}
	}
	testkit.Execute(t, app,
		"INSERT INTO `"+table.Name+"` ("+strings.Join(columns, ", ")+") VALUES ("+strings.Join(values, ", ")+")",
		dbx.Params{"gone": gone})
}

// ownerless lists how many rows have no owner, by table and column.
func ownerless(t *testing.T, app core.App) string {
	t.Helper()
	var found strings.Builder
	look := func(table, column, owner string) {
		n := count(t, app, "SELECT count(*) FROM {{"+table+"}} WHERE [["+column+"]] != '' "+
			"AND [["+column+"]] NOT IN (SELECT id FROM {{"+owner+"}})", nil)
		if n > 0 {
			fmt.Fprintf(&found, "%d rows of %s whose %s is not in %s\n", n, table, column, owner)
		}
	}
	for _, table := range tenant.Tables {
		for column, owner := range table.Owners {
			look(table.Name, column, owner)
		}
	}
	for _, table := range []string{"_externalAuths", "_mfas", "_otps", "_authOrigins"} {
		look(table, "recordRef", member.CollectionName)
	}
	return found.String()
}
