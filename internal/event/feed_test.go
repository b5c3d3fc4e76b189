package event_test

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/event"
	"contactbase/internal/sqlite"
	"contactbase/internal/testkit"
)

// feed models the feed of a tenant: all events that were ever committed, in order.
type feed struct {
	tb     testing.TB
	app    core.App
	tenant string
	events []written
}

type written struct {
	place, kind, contact string
	gone                 bool
}

func newFeed(t *testing.T, app core.App, name string) *feed {
	t.Helper()
	return &feed{tb: t, app: app, tenant: testkit.Tenant(t, app, name)}
}

func (f *feed) emit(kind event.Kind, contact string) {
	f.tb.Helper()
	e := &event.Event{Kind: kind, TenantID: f.tenant, Contact: contact, Data: map[string]string{"id": contact}}
	if err := testkit.WriteEvent(f.app, e, now); err != nil {
		f.tb.Fatal(err)
	}
	if kind != event.WebhookPing {
		f.events = append(f.events, written{place: event.IDPrefix + e.ID, kind: string(kind), contact: contact})
	}
}

func (f *feed) remove(some ...int) {
	f.tb.Helper()
	ids := make([]any, len(some))
	for i, n := range some {
		f.events[n].gone = true
		ids[i] = strings.TrimPrefix(f.events[n].place, event.IDPrefix)
	}
	if _, err := f.app.NonconcurrentDB().Delete("events", dbx.In("id", ids...)).Execute(); err != nil {
		f.tb.Fatal(err)
	}
}

// behind returns the cursors of the events that are left after the first n, and whether one of those has been deleted.
func (f *feed) behind(n int) (places []string, gone bool) {
	for _, e := range f.events[n:] {
		gone = gone || e.gone
		places = append(places, e.place)
	}
	return places, gone
}

// checked is how many of the last cursors are read from after each change.
const checked = 12

// check compares the feed from the last cursors, the beginning and the end with the model.
func (f *feed) check() {
	f.tb.Helper()
	firstWhole := 0
	for n := range f.events {
		if f.events[n].gone {
			firstWhole = n + 1
		}
	}
	end := event.IDPrefix + "000000000000000"
	want, gone := f.behind(0)
	f.expect(end, want, gone)
	for n, e := range f.events {
		if end = e.place; n >= len(f.events)-checked {
			want, gone := f.behind(n + 1)
			f.expect(e.place, want, gone)
		}
	}
	want, _ = f.behind(firstWhole)
	f.expect(event.Oldest, want, false)
	if got, err := event.End(f.app, f.tenant, nil); err != nil || got != end {
		f.tb.Fatalf("the end is %s, %v, not %s", got, err, end)
	}
}

func (f *feed) expect(place string, want []string, expired bool) {
	f.tb.Helper()
	size := 1 + len(f.events)%3
	var got []string
	page := &event.Page{Next: place, More: true}
	for err := error(nil); page.More; {
		if page, err = event.ReadPage(f.app, f.tenant, page.Next, event.Filter{}, size); err != nil {
			if expired && errors.Is(err, event.ErrCursorExpired) && got == nil {
				return
			}
			f.tb.Fatalf("behind %q: %v", place, err)
		}
		if page.More && len(page.Events) != size {
			f.tb.Fatalf("behind %q a page of %d has %d events, and there are more", place, size, len(page.Events))
		}
		if len(page.Events) == 0 && place != event.Oldest && page.Next != cmp.Or(last(got), place) {
			f.tb.Fatalf("behind %q an empty page ends at %q, behind %v", place, page.Next, got)
		}
		for _, sent := range page.Events {
			got = append(got, sent.ID)
			if !strings.HasPrefix(string(sent.Body), `{"id":"`+sent.ID+`","type":"`+sent.Kind+`"`) {
				f.tb.Fatalf("the body of %s is %s", sent.ID, sent.Body)
			}
		}
	}
	if expired || !slices.Equal(got, want) {
		f.tb.Fatalf("behind %q there is %v, not %v; expired: %t\n%+v", place, got, want, expired, f.events)
	}
}

func last(ids []string) string {
	if len(ids) == 0 {
		return ""
	}
	return ids[len(ids)-1]
}

// Random events are written and deleted. From every cursor, a reader gets all later events in order, or
// ErrCursorExpired.
func TestFeedIsComplete(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	feeds := []*feed{newFeed(t, app, "Acme"), newFeed(t, app, "Other")}
	seed := rand.Uint64()
	dice := rand.New(rand.NewPCG(seed, 0))
	defer func() {
		if t.Failed() {
			t.Logf("the seed was %d", seed)
		}
	}()
	for range 200 {
		f := feeds[dice.IntN(2)]
		var kept []int
		for n, e := range f.events {
			if !e.gone {
				kept = append(kept, n)
			}
		}
		switch roll := dice.IntN(10); {
		case len(kept) == 0 || roll < 4:
			f.emit(event.ContactCreated, "c")
		case roll < 6:
			f.emit(event.WebhookPing, "")
		case roll == 6: // as an administrator does
			f.remove(kept[dice.IntN(len(kept))])
		case roll == 7: // the newest, whose row number the next one gets
			f.remove(kept[len(kept)-1])
		case roll == 8: // as pruning does, whichever comes first
			some := slices.Clone(kept[:1+dice.IntN(len(kept))])
			dice.Shuffle(len(some), func(i, j int) { some[i], some[j] = some[j], some[i] })
			f.remove(some...)
		default:
			if _, err := app.NonconcurrentDB().NewQuery("DELETE FROM events WHERE type = 'webhook.ping'").Execute(); err != nil {
				t.Fatal(err)
			}
			if _, err := app.NonconcurrentDB().NewQuery("VACUUM").Execute(); err != nil {
				t.Fatal(err)
			}
		}
		f.check()
	}
}

// An empty page from Oldest ends before the first event, even if that is written meanwhile.
func TestEmptyPageFromOldest(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	for n := range 100 {
		f := newFeed(t, app, fmt.Sprint("Tenant ", n))
		start, err := event.End(app, f.tenant, nil)
		if err != nil {
			t.Fatal(err)
		}
		written := make(chan struct{})
		go func() {
			defer close(written)
			f.emit(event.ContactCreated, "c")
		}()
		for {
			page, err := event.ReadPage(app, f.tenant, event.Oldest, event.Filter{}, 10)
			if err != nil {
				t.Fatal(err)
			}
			if len(page.Events) > 0 {
				break
			}
			if page.Next != start {
				t.Fatalf("an empty page ends at %q, want %q", page.Next, start)
			}
		}
		<-written
	}
}

// Where the database cannot be read, readers get an error, not the end of the feed.
func TestUnreadableFeed(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	f := newFeed(t, app, "Acme")
	f.emit(event.ContactCreated, "c")
	testkit.Execute(t, app, "DROP TABLE events; DROP TABLE _eventsGone", nil)
	if end, err := event.End(app, f.tenant, nil); err == nil {
		t.Errorf("the end is %q", end)
	}
	if start, err := event.Start(app, f.tenant); err == nil {
		t.Errorf("the start is %q", start)
	}
	if page, err := event.ReadPage(app, f.tenant, event.Oldest, event.Filter{}, 10); err == nil {
		t.Errorf("the page is %+v", page)
	}
	if id, err := event.Newest(sqlite.ReaderOf(app)); err == nil {
		t.Errorf("the newest event is %q", id)
	}
}

// A filter excludes events, and the cursor advances past them.
func TestFilter(t *testing.T) {
	t.Parallel()
	f := newFeed(t, testkit.NewApp(t), "Acme")
	for i := range 40 {
		f.emit([]event.Kind{event.ContactCreated, event.ContactUpdated, event.ContactDeleted}[i%3], fmt.Sprintf("c%d", i%4))
	}
	for name, filter := range map[string]event.Filter{
		"a kind":             {Kinds: []string{"contact.deleted"}},
		"two kinds":          {Kinds: []string{"contact.deleted", "contact.created"}},
		"a contact":          {Contact: "c1"},
		"a kind and contact": {Kinds: []string{"contact.updated"}, Contact: "c1"},
		"nobody":             {Contact: "c9"},
	} {
		var want, got []string
		for _, e := range f.events {
			if (filter.Kinds == nil || slices.Contains(filter.Kinds, e.kind)) && (filter.Contact == "" || filter.Contact == e.contact) {
				want = append(want, e.place)
			}
		}
		page := &event.Page{More: true}
		for err := error(nil); page.More; {
			if page, err = event.ReadPage(f.app, f.tenant, page.Next, filter, 2); err != nil {
				t.Fatal(err)
			}
			if len(page.Events) > 2 || page.More && len(page.Events) < 2 {
				t.Errorf("%s: a page of 2 has %d events, More is %t", name, len(page.Events), page.More)
			}
			for _, sent := range page.Events {
				got = append(got, sent.ID)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
		if last := f.events[len(f.events)-1].place; page.Next != last {
			t.Errorf("%s: the cursor is %s, want that of the last event, %s", name, page.Next, last)
		}
	}
}

// A page has a limited size, and scans a limited number of events.
func TestPagesAreBounded(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	large, many := newFeed(t, app, "Large"), newFeed(t, app, "Many")
	const insert = `WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < {:last})
		INSERT INTO events (id, tenant, type, contact, payload, created)
		SELECT printf('e%s%09d', substr({:tenant}, 1, 5), i), {:tenant}, 'contact.created', 'c' || (i = {:last}), printf('%.*c', {:size}, 'x'), '' FROM n`
	testkit.Execute(t, app, insert, dbx.Params{"tenant": large.tenant, "last": 11, "size": 1_000_000})
	page, err := event.ReadPage(app, large.tenant, event.Oldest, event.Filter{}, 100)
	if err != nil || len(page.Events) != 5 || !page.More {
		t.Fatalf("a page of 12 MB has %d events, More is %t (%v)", len(page.Events), page.More, err)
	}
	if page, err = event.ReadPage(app, large.tenant, page.Next, event.Filter{}, 100); err != nil || !strings.HasSuffix(page.Events[0].ID, "000000005") {
		t.Errorf("the next page begins with %+v (%v)", page.Events[0].ID, err)
	}
	testkit.Execute(t, app, insert, dbx.Params{"tenant": many.tenant, "last": 5_000, "size": 2})
	if page, err = event.ReadPage(app, many.tenant, event.Oldest, event.Filter{Contact: "c1"}, 100); err != nil || len(page.Events) != 0 || !page.More {
		t.Fatalf("a filter finds %d events, More is %t (%v)", len(page.Events), page.More, err)
	}
	if page, err = event.ReadPage(app, many.tenant, page.Next, event.Filter{Contact: "c1"}, 100); err != nil || len(page.Events) != 1 || page.More {
		t.Errorf("and then %d events, More is %t (%v)", len(page.Events), page.More, err)
	}
}

// The state of a feed is deleted with its tenant.
func TestTenantDeletionDeletesFeed(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	f := newFeed(t, app, "Acme")
	f.emit(event.ContactCreated, "c")
	f.emit(event.ContactCreated, "c")
	f.remove(0)
	testkit.Execute(t, app, `DELETE FROM tenants`, nil)
	f.remove(1)
	var left int
	if err := app.DB().NewQuery("SELECT count(*) FROM _eventsGone").Row(&left); err != nil || left != 0 {
		t.Errorf("%d rows are left (%v)", left, err)
	}
}

// The queries of the feed read its index in order, and sort nothing.
func TestFeedUsesItsIndex(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	for name, query := range event.Queries {
		rows, err := sqlite.ReaderOf(app).Query("EXPLAIN QUERY PLAN "+query, append([]any{"tenant", "place"}, make([]any, strings.Count(query, "?3")*2)...)...)
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		var plan []string
		for rows.Next() {
			var id, parent, unused int
			var detail string
			if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
				t.Fatal(err)
			}
			plan = append(plan, detail)
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
		got := strings.Join(plan, "; ")
		if !strings.Contains(got, "events USING INDEX idx_events_feed (tenant=? AND rowid>? AND rowid<?)") || strings.Contains(got, "TEMP B-TREE") {
			t.Errorf("%s: %s", name, got)
		}
	}
}
