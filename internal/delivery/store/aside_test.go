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
	"contactbase/internal/testkit"
	"contactbase/internal/webhook/filter"
)

// costly is a filter that takes a twentieth of the steps of an event, and that none matches.
var costly = strings.Repeat("len(type) in 100..9999 || ", 10) + "false"

// addWebhooks adds n webhooks with a filter, and returns their ids.
func addWebhooks(t *testing.T, app core.App, tenant string, n int, text string) (ids []string) {
	t.Helper()
	for range n {
		ids = append(ids, core.GenerateDefaultRandomId())
	}
	err := app.RunInTransaction(func(tx core.App) error {
		for _, id := range ids {
			_, err := tx.DB().NewQuery("INSERT INTO webhooks (id, tenant, url, secret, filter, disabled, created, updated) " +
				"VALUES ({:id}, {:tenant}, 'https://hooks.example.com', 'a secret', {:filter}, 0, '2026-01-31 12:00:00.000Z', '2026-01-31 12:00:00.000Z')").
				Bind(dbx.Params{"id": id, "tenant": tenant, "filter": text}).Execute()
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

// asideFixture is a tenant with many webhooks, half of which want its events, and another one.
type asideFixture struct {
	*testing.T
	app           core.App
	store         *store.Store
	large, small  string
	wanting       []string
	smallsWebhook string
}

func newAside(t *testing.T, wanting int) *asideFixture {
	t.Helper()
	app := testkit.NewApp(t)
	f := &asideFixture{T: t, app: app, store: store.New(app), large: testkit.Tenant(t, app, "Large"), small: testkit.Tenant(t, app, "Small")}
	addWebhooks(t, app, f.large, wanting, `type == "contact.deleted"`)
	f.wanting = addWebhooks(t, app, f.large, wanting, `type == "contact.updated"`)
	f.smallsWebhook = testkit.Webhook(t, app, f.small, "https://hooks.example.com", "")
	return f
}

// fanOut fans out all but what is set aside.
func (f *asideFixture) fanOut() {
	f.Helper()
	for more := true; more; {
		out, err := f.store.FanOut(f.Context(), delivery.FanOut{Now: time.Now()})
		if err != nil {
			f.Fatal(err)
		}
		more = out.More
	}
}

// fanOutAside fans out what is set aside, in n steps, or all of it.
func (f *asideFixture) fanOutAside(n int) {
	f.Helper()
	for ; n != 0; n-- {
		out, err := f.store.FanOut(f.Context(), delivery.FanOut{Now: time.Now(), Aside: true})
		if err != nil {
			f.Fatal(err)
		}
		if !out.More {
			return
		}
	}
}

func (f *asideFixture) expect(event string, want int) {
	f.Helper()
	params := dbx.Params{"event": event}
	if n := testkit.Count(f.T, f.app, "SELECT count(*) FROM deliveries WHERE event = {:event}", params); n != want {
		f.Errorf("the event has %d deliveries instead of %d", n, want)
	}
	if n := testkit.Count(f.T, f.app, "SELECT count(DISTINCT webhook) FROM deliveries WHERE event = {:event}", params); n != want {
		f.Errorf("they are to %d webhooks instead of %d", n, want)
	}
}

func (f *asideFixture) expectAside(want int) {
	f.Helper()
	if n := testkit.Count(f.T, f.app, "SELECT count(*) FROM _fanOutAside", nil); n != want {
		f.Errorf("%d tenants are set aside instead of %d", n, want)
	}
}

// An event that many webhooks want waits for itself, not the events of others: these are sent and fanned out although it is not.
func TestManyRecipientsDelayNobodyElse(t *testing.T) {
	t.Parallel()
	f := newAside(t, 1_200)
	first := testkit.Write(t, f.app, f.large, "ada", event.ContactUpdated)
	other := testkit.Write(t, f.app, f.small, "bob", event.ContactUpdated)
	second := testkit.Write(t, f.app, f.large, "ada", event.ContactUpdated)
	batch, err := f.store.Fetch(t.Context(), delivery.Fetch{Now: time.Now(), New: 100})
	if err != nil {
		t.Fatal(err)
	}
	var sendable []string
	for _, n := range batch.New {
		if n.Endpoint != nil {
			sendable = append(sendable, n.Webhook)
		}
	}
	if len(sendable) != 1 || sendable[0] != f.smallsWebhook {
		t.Errorf("%d deliveries are fetched, to %v", len(sendable), sendable)
	}
	f.fanOut()
	f.expect(first, 0)
	f.expect(other, 1)
	f.expectAside(1)
	third := testkit.Write(t, f.app, f.large, "ada", event.ContactUpdated) // joins them, behind the cursor
	f.fanOutAside(1)
	if n := testkit.Count(t, f.app, "SELECT count(*) FROM deliveries WHERE event = {:event}", dbx.Params{"event": first}); n == 0 || n == 1_200 {
		t.Errorf("a step writes %d deliveries", n)
	}
	f.store = store.New(f.app) // after a crash
	f.fanOutAside(-1)
	f.expectAside(1)
	f.fanOut()
	f.fanOutAside(-1)
	f.expectAside(0)
	for _, e := range []string{first, second, third} {
		f.expect(e, 1_200)
	}
	if n := testkit.Count(t, f.app, "SELECT count(*) FROM deliveries WHERE event = {:event} AND blocked = 0", dbx.Params{"event": second}); n != 0 {
		t.Errorf("%d deliveries of the contact's second event are not behind those of the first", n)
	}
}

// A step that fails, or a process that ends, between two chunks loses nothing and writes nothing twice.
func TestAsideIsRepeated(t *testing.T) {
	t.Parallel()
	f := newAside(t, 700)
	e := testkit.Write(t, f.app, f.large, "ada", event.ContactUpdated)
	f.fanOut()
	testkit.Execute(t, f.app, "CREATE TRIGGER full BEFORE INSERT ON deliveries WHEN (SELECT count(*) FROM deliveries) >= 450 BEGIN SELECT RAISE(ABORT, 'full'); END", nil)
	if _, err := f.store.FanOut(t.Context(), delivery.FanOut{Now: time.Now(), Aside: true}); err == nil || !strings.Contains(err.Error(), "full") {
		t.Fatalf("the error is %v", err)
	}
	f.expectAside(1)
	testkit.Execute(t, f.app, "DROP TRIGGER full", nil)
	if n := testkit.Count(t, f.app, "SELECT count(*) FROM deliveries", nil); n == 0 || n > 450 {
		t.Errorf("%d deliveries are written before the failure", n)
	}
	f.store = store.New(f.app)
	f.fanOutAside(-1)
	f.expect(e, 700)
	f.expectAside(0)
}

// The webhooks of the moment get an event that is set aside, but none that was made or enabled after the event.
func TestChangesWhileSetAside(t *testing.T) {
	t.Parallel()
	f := newAside(t, 700)
	e := testkit.Write(t, f.app, f.large, "ada", event.ContactUpdated)
	f.fanOut()
	f.fanOutAside(1)
	set := func(id, column string, value any) {
		t.Helper()
		record, err := f.app.FindRecordById("webhooks", id)
		if err != nil {
			t.Fatal(err)
		}
		record.Set(column, value)
		if err := f.app.Save(record); err != nil {
			t.Fatal(err)
		}
	}
	late := f.wanting[690:]
	set(late[0], "disabled", true)
	set(late[1], "filter", `type == "contact.deleted"`)
	set(late[2], "disabled", true)
	set(late[2], "disabled", false)
	const added = "added0000000000" // beyond the bound of webhooks
	testkit.Execute(t, f.app, "INSERT INTO webhooks (id, tenant, url) VALUES ({:id}, {:tenant}, 'https://hooks.example.com')", dbx.Params{"id": added, "tenant": f.large})
	next := testkit.Write(t, f.app, f.large, "ada", event.ContactUpdated)
	var last string
	if err := f.app.DB().NewQuery("SELECT webhook FROM _fanOutAside").Row(&last); err != nil {
		t.Fatal(err)
	}
	testkit.Execute(t, f.app, "DELETE FROM webhooks WHERE id = {:id}", dbx.Params{"id": last}) // at the position
	f.fanOut()
	f.fanOutAside(-1)
	f.expect(e, 700-3)
	f.expect(next, 700-2) // one is deleted, two want nothing, one is new
	for _, id := range []string{late[0], late[1], late[2], added} {
		if n := testkit.Count(t, f.app, "SELECT count(*) FROM deliveries WHERE event = {:event} AND webhook = {:id}", dbx.Params{"event": e, "id": id}); n != 0 {
			t.Errorf("%s has %d deliveries of the event before", id, n)
		}
	}
	if n := testkit.Count(t, f.app, "SELECT count(*) FROM _fanOutSince", nil); n != 0 {
		t.Errorf("%d webhooks are remembered", n)
	}
}

// Filters take no more than a number of steps for an event. Those beyond get it.
func TestBudgetOfFilters(t *testing.T) {
	t.Parallel()
	f := newAside(t, 0)
	compiled, err := filter.Compile(costly)
	if err != nil {
		t.Fatal(err)
	}
	e := testkit.Write(t, f.app, f.large, "ada", event.ContactUpdated)
	var payload string
	if err := f.app.DB().NewQuery("SELECT payload FROM events WHERE id = {:id}").Bind(dbx.Params{"id": e}).Row(&payload); err != nil {
		t.Fatal(err)
	}
	parsed, err := filter.Parse([]byte(payload))
	if err != nil {
		t.Fatal(err)
	}
	evaluated := filter.MaxSteps / compiled.Steps(parsed)
	addWebhooks(t, f.app, f.large, evaluated+30, costly)
	e = testkit.Write(t, f.app, f.large, "ada", event.ContactUpdated)
	f.fanOut()
	f.expectAside(1) // although they are few
	f.fanOutAside(-1)
	f.expect(e, 30)
}

// What filters reject of an event that is set aside, and what waits, is not missed and not pruned.
func TestAsideIsNotMissed(t *testing.T) {
	t.Parallel()
	f := newAside(t, 300)
	e := testkit.Write(t, f.app, f.large, "ada", event.ContactUpdated)
	f.fanOut()
	recovered := func(want int) {
		t.Helper()
		missed, err := f.store.Recover(f.wanting[0], delivery.Recovery{Since: time.Now().Add(-time.Hour), DryRun: true})
		if err != nil || missed.Count != want {
			t.Errorf("%d are missed, %v", missed.Count, err)
		}
	}
	recovered(0)
	if backlog, err := f.store.Backlog(t.Context()); err != nil || backlog.FanOut != 1 || backlog.OldestFanOut.IsZero() {
		t.Errorf("the backlog is %+v, %v", backlog, err)
	}
	if n, err := f.store.Prune(t.Context(), time.Now().Add(time.Hour)); n != 0 || err != nil {
		t.Errorf("%d events are pruned, %v", n, err)
	}
	f.fanOutAside(-1)
	f.expect(e, 300)
	testkit.Execute(t, f.app, "DELETE FROM deliveries", nil)
	recovered(1)
}

// Erasure waits until those who are to receive an event have it, and needs nobody who does.
func TestAsideIsErased(t *testing.T) {
	t.Parallel()
	for _, wanting := range []bool{true, false} {
		t.Run(fmt.Sprint(wanting), func(t *testing.T) {
			t.Parallel()
			f := newAside(t, 300)
			kind := event.ContactCreated
			if wanting {
				kind = event.ContactUpdated
			}
			e := testkit.Write(t, f.app, f.large, "ada", kind) // who does not exist
			f.fanOut()
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
				return testkit.Count(t, f.app, "SELECT count(*) FROM events WHERE id = {:id} AND payload NOT LIKE '%grace@example.com%'", dbx.Params{"id": e}) == 1
			}
			if erased() {
				t.Error("it is erased before its deliveries are written")
			}
			f.fanOutAside(-1)
			whole(1)
			erase()
			if erased() == wanting {
				t.Errorf("erased is %v", !wanting)
			}
		})
	}
}

// Fan-out evaluates no filter while it holds the writer lock, unless webhooks change all the time.
func TestFiltersRunOutsideTheWriter(t *testing.T) {
	t.Parallel()
	f := newAside(t, 50)
	e := testkit.Write(t, f.app, f.large, "ada", event.ContactUpdated)
	if decided := store.DecidedBefore(t, f.store); decided {
		t.Error("the event is decided although nothing has read it")
	}
	f.fanOut()
	f.expect(e, 50)
	testkit.Execute(t, f.app, "UPDATE _fanOutCursor SET event = ''", nil)
	if !store.DecidedBefore(t, f.store) {
		t.Error("the fan-out decides again")
	}
	testkit.Execute(t, f.app, "UPDATE webhooks SET filter = 'true' WHERE id = {:id}", dbx.Params{"id": f.wanting[0]})
	if store.DecidedBefore(t, f.store) {
		t.Error("the fan-out knows the other filter without having read it")
	}
	f.fanOut()
	f.expect(e, 50)
}

// Filters are compiled once, however many there are, and forgotten with their webhooks.
func TestFiltersAreCompiledOnce(t *testing.T) {
	t.Parallel()
	f := newAside(t, 1_200)
	for range 3 {
		testkit.Write(t, f.app, f.large, "ada", event.ContactCreated)
	}
	f.fanOut()
	f.fanOutAside(-1)
	kept := store.Compiled(f.store)
	if len(kept) != 2_400 {
		t.Errorf("%d filters are compiled", len(kept))
	}
	testkit.Write(t, f.app, f.large, "ada", event.ContactCreated)
	f.fanOut()
	f.fanOutAside(-1)
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
		f.fanOut()
		f.fanOutAside(-1)
		testkit.Execute(t, f.app, "DELETE FROM webhooks", nil)
	}
	if n := len(store.Compiled(f.store)); n > 2*2_400+1_000+1 {
		t.Errorf("%d filters are compiled although few webhooks are left", n)
	}
}
