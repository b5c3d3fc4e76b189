package store_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/delivery"
	"contactbase/internal/delivery/store"
	"contactbase/internal/event"
	"contactbase/internal/tenant"
	"contactbase/internal/testkit"
	"contactbase/internal/webhook/filter"
)

// costly is a filter that takes a twentieth of the steps of an event, and that none matches.
var costly = strings.Repeat("len(type) in 100..9999 || ", 10) + "false"

// addWebhooks adds n webhooks with a filter, and returns their ids.
func addWebhooks(t *testing.T, app core.App, tenantID string, n int, text string) (ids []string) {
	t.Helper()
	for range n {
		ids = append(ids, core.GenerateDefaultRandomId())
	}
	err := app.RunInTransaction(func(tx core.App) error {
		for _, id := range ids {
			_, err := tx.DB().NewQuery("INSERT INTO webhooks (id, tenant, url, secret, filter, disabled, created, updated) " +
				"VALUES ({:id}, {:tenant}, 'https://hooks.example.com', 'a secret', {:filter}, 0, " +
				"'2026-01-31 12:00:00.000Z', '2026-01-31 12:00:00.000Z')").
				Bind(dbx.Params{"id": id, "tenant": tenantID, "filter": text}).Execute()
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return ids
}

// manyFixture is a tenant with many webhooks, half of which want its events.
type manyFixture struct {
	*testing.T
	app     core.App
	store   *store.Store
	large   string
	wanting []string
}

func newMany(t *testing.T, wanting int) *manyFixture {
	t.Helper()
	app := testkit.NewApp(t)
	f := &manyFixture{T: t, app: app, store: store.New(app), large: testkit.Tenant(t, app, "Large")}
	addWebhooks(t, app, f.large, wanting, `type == "contact.deleted"`)
	f.wanting = addWebhooks(t, app, f.large, wanting, `type == "contact.updated"`)
	return f
}

// fanOut fans out in n writes, or until the end.
func (f *manyFixture) fanOut(n int) {
	f.Helper()
	for ; n != 0; n-- {
		out, err := f.store.FanOut(f.Context(), time.Now())
		if err != nil {
			f.Fatal(err)
		}
		if !out.More {
			return
		}
	}
}

func (f *manyFixture) expect(event string, want int) {
	f.Helper()
	params := dbx.Params{"event": event}
	if n := testkit.Count(f.T, f.app, "SELECT count(*) FROM deliveries WHERE event = {:event}", params); n != want {
		f.Errorf("the event has %d deliveries instead of %d", n, want)
	}
	n := testkit.Count(f.T, f.app, "SELECT count(DISTINCT webhook) FROM deliveries WHERE event = {:event}", params)
	if n != want {
		f.Errorf("they are to %d webhooks instead of %d", n, want)
	}
}

// Filters take no more than a number of steps for an event. Those beyond get it.
func TestBudgetOfFilters(t *testing.T) {
	t.Parallel()
	f := newMany(t, 0)
	compiled, err := filter.Compile(costly)
	if err != nil {
		t.Fatal(err)
	}
	e := testkit.Write(t, f.app, f.large, "ada", event.ContactUpdated)
	var payload string
	query := f.app.DB().NewQuery("SELECT payload FROM events WHERE id = {:id}").Bind(dbx.Params{"id": e})
	if err := query.Row(&payload); err != nil {
		t.Fatal(err)
	}
	parsed, err := filter.Parse([]byte(payload))
	if err != nil {
		t.Fatal(err)
	}
	evaluated := filter.MaxSteps / compiled.Steps(parsed)
	addWebhooks(t, f.app, f.large, evaluated+30, costly)
	e = testkit.Write(t, f.app, f.large, "ada", event.ContactUpdated)
	f.fanOut(-1)
	f.expect(e, 30)
}

// Filters of many events are evaluated in several fan-outs, so that results are stored in between.
func TestFiltersOfManyEvents(t *testing.T) {
	t.Parallel()
	f := newMany(t, 0)
	addWebhooks(t, f.app, f.large, 15, costly)
	for range 30 {
		testkit.Write(t, f.app, f.large, "ada", event.ContactUpdated)
	}
	position := func() int {
		return testkit.Count(t, f.app,
			"SELECT count(*) FROM events WHERE rowid <= (SELECT e.rowid FROM events e JOIN _fanOutCursor c ON e.id = c.event)",
			nil)
	}
	f.fanOut(1)
	if n := position(); n == 0 || n == 30 {
		t.Errorf("the first fan-out decides %d events", n)
	}
	f.fanOut(-1)
	if n := position(); n != 30 {
		t.Errorf("all fan-outs decide %d events", n)
	}
}

// What filters reject of an event that is yet to get all its deliveries, and what waits, is not missed and not pruned.
func TestPartOfAnEventIsNotMissed(t *testing.T) {
	t.Parallel()
	f := newMany(t, 300)
	e := testkit.Write(t, f.app, f.large, "ada", event.ContactUpdated)
	f.fanOut(1)
	f.expect(e, tenant.MaxWebhooks)
	if backlog, err := f.store.Backlog(t.Context()); err != nil || backlog.FanOut != 1 || backlog.OldestFanOut.IsZero() {
		t.Errorf("the backlog is %+v, %v", backlog, err)
	}
	testkit.Execute(t, f.app, "UPDATE deliveries SET status = 'failed'", nil)
	if n, err := f.store.Prune(t.Context(), time.Now().Add(time.Hour)); n != 0 || err != nil {
		t.Errorf("%d events are pruned, %v", n, err)
	}
	recovered := func(want int) {
		t.Helper()
		missed, err := f.store.Recover(t.Context(), f.wanting[299], delivery.Recovery{Since: time.Now().Add(-time.Hour), DryRun: true})
		if err != nil || missed.Count != want {
			t.Errorf("%d are missed, %v", missed.Count, err)
		}
	}
	recovered(0) // which fans out first
	f.expect(e, 300)
	testkit.Execute(t, f.app, "DELETE FROM deliveries", nil)
	recovered(1)
}

// Erasure waits until those who are to receive an event have it, and needs nobody who does.
func TestPartOfAnEventIsErased(t *testing.T) {
	t.Parallel()
	for _, wanting := range []bool{true, false} {
		t.Run(fmt.Sprint(wanting), func(t *testing.T) {
			t.Parallel()
			f := newMany(t, 300)
			kind := event.ContactCreated
			if wanting {
				kind = event.ContactUpdated
			}
			e := testkit.Write(t, f.app, f.large, "ada", kind) // who does not exist
			if wanting {
				f.fanOut(1)
			}
			whole := func(want int) {
				t.Helper()
				if found, err := f.store.FullyFannedOut([]string{"ada"}); err != nil || len(found) != want {
					t.Errorf("%d of the contacts are fanned out, %v", len(found), err)
				}
			}
			erase := func() {
				t.Helper()
				if err := f.store.EraseContacts(t.Context(), []string{"ada"}); err != nil {
					t.Fatal(err)
				}
			}
			whole(0)
			erase()
			erased := func() bool {
				const without = "SELECT count(*) FROM events WHERE id = {:id} AND payload NOT LIKE '%grace@example.com%'"
				return testkit.Count(t, f.app, without, dbx.Params{"id": e}) == 1
			}
			if erased() {
				t.Error("it is erased before its deliveries are written")
			}
			f.fanOut(-1)
			whole(1)
			erase()
			if erased() == wanting {
				t.Errorf("erased is %v", !wanting)
			}
		})
	}
}

// Nothing is written if webhooks, tenants, events or the cursor have changed since the recipients were decided.
func TestFanOutAfterAChange(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change string
		want   int // deliveries in the end
	}{
		"nothing":        {"SELECT 1", 4},
		"a filter":       {"UPDATE webhooks SET filter = 'false' WHERE id = {:webhook}", 2},
		"a webhook":      {"DELETE FROM webhooks WHERE id = {:webhook}", 2},
		"a new webhook":  {"INSERT INTO webhooks (id, tenant, url) VALUES ('later0000000000', {:tenant}, '')", 4},
		"the tenant":     {"DELETE FROM tenants WHERE id = {:tenant}", 0},
		"an event":       {"DELETE FROM events WHERE id = {:first}", 2},
		"the last event": {"DELETE FROM events WHERE id = {:second}", 2},
		"the cursor":     {"UPDATE _fanOutCursor SET event = {:first}", 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newMany(t, 2)
			first, second := testkit.Write(t, f.app, f.large, "ada", event.ContactUpdated),
				testkit.Write(t, f.app, f.large, "ada", event.ContactUpdated)
			change := func() {
				testkit.Execute(t, f.app, c.change,
					dbx.Params{"tenant": f.large, "webhook": f.wanting[0], "first": first, "second": second})
			}
			written, err := store.WriteAfter(f.store, change)
			if err != nil || written != (name == "nothing") {
				t.Errorf("it is written: %t, %v", written, err)
			}
			f.fanOut(-1)
			if n := testkit.Count(t, f.app, "SELECT count(*) FROM deliveries", nil); n != c.want {
				t.Errorf("there are %d deliveries instead of %d", n, c.want)
			}
		})
	}
}

// Filters are compiled once, however many there are, and forgotten with their webhooks.
func TestFiltersAreCompiledOnce(t *testing.T) {
	t.Parallel()
	f := newMany(t, 1_200)
	for range 3 {
		testkit.Write(t, f.app, f.large, "ada", event.ContactCreated)
	}
	f.fanOut(-1)
	kept := store.Compiled(f.store)
	if len(kept) != 2_400 {
		t.Errorf("%d filters are compiled", len(kept))
	}
	testkit.Write(t, f.app, f.large, "ada", event.ContactCreated)
	f.fanOut(-1)
	again := store.Compiled(f.store)
	for id, was := range kept {
		if again[id] != was {
			t.Fatal("a filter is compiled again")
		}
	}
	testkit.Execute(t, f.app, "DELETE FROM webhooks", nil)
	for range 15 {
		addWebhooks(t, f.app, f.large, 300, "true")
		testkit.Write(t, f.app, f.large, "ada", event.ContactCreated)
		f.fanOut(-1)
		testkit.Execute(t, f.app, "DELETE FROM webhooks", nil)
	}
	if n := len(store.Compiled(f.store)); n > 2*2_400+1_000+1 {
		t.Errorf("%d filters are compiled although few webhooks are left", n)
	}
}
