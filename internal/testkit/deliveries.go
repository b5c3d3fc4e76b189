package testkit

import (
	"context"
	"testing"
	"time"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/delivery/store"
	"contactbase/internal/event"
	"contactbase/internal/retention"
	"contactbase/internal/sqlite"
	"contactbase/internal/stamp"
)

// deliveriesKey is the key of the app's delivery store in the app's store.
const deliveriesKey = "testkitDeliveries"

// Deliveries returns the app's delivery store.
func Deliveries(app core.App) *store.Store { return app.Store().Get(deliveriesKey).(*store.Store) }

// FanOut fans out all events, like the engine in the background.
func FanOut(tb testing.TB, app core.App) {
	tb.Helper()
	if err := Deliveries(app).CatchUp(context.Background()); err != nil {
		tb.Fatal(err)
	}
}

// Sweep is FanOut, and then deletes the dependents of deleted records and erases deleted contacts, like the sweeper
// in the background.
func Sweep(tb testing.TB, app core.App) {
	tb.Helper()
	FanOut(tb, app)
	if err := retention.Sweep(context.Background(), app, Deliveries(app)); err != nil {
		tb.Fatal(err)
	}
}

// Emit is Write and then FanOut.
func Emit(tb testing.TB, app core.App, tenantID, contact string, kind event.Kind) string {
	tb.Helper()
	id := Write(tb, app, tenantID, contact, kind)
	FanOut(tb, app)
	return id
}

// Write writes an event about a contact, and returns its id.
func Write(tb testing.TB, app core.App, tenantID, contact string, kind event.Kind) string {
	tb.Helper()
	e := &event.Event{Kind: kind, TenantID: tenantID, Contact: contact, Data: map[string]string{
		"id": contact, "email": "grace@example.com",
	}}
	if err := WriteEvent(app, e, time.Now()); err != nil {
		tb.Fatal(err)
	}
	return e.ID
}

// WriteEvent writes an event to the outbox, in the app's transaction if there is one.
func WriteEvent(app core.App, e *event.Event, now time.Time) error {
	_, err := sqlite.Write(app, func(sqlite.Reader) ([]sqlite.Statement, error) {
		statement, err := event.Insert(e, now)
		return []sqlite.Statement{statement}, err
	})
	return err
}

// Events adds n events of the tenant without a contact and without deliveries, created at a time.
func Events(tb testing.TB, app core.App, tenantID string, n int, at time.Time) {
	tb.Helper()
	Execute(tb, app, `INSERT INTO events (id, tenant, type, contact, payload, created)
		WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {:n})
		SELECT printf('e%014d', i), {:tenant}, 'contact.updated', '', '{}', {:at} FROM n`,
		dbx.Params{"n": n, "tenant": tenantID, "at": stamp.Stored(at)})
}

// Delivery has the columns of a delivery that tests check.
type Delivery struct {
	ID          string `db:"id"`
	Status      string `db:"status"`
	Attempts    int    `db:"attempts"`
	NextAttempt string `db:"nextAttempt"`
	LastStatus  int    `db:"lastStatus"`
	LastError   string `db:"lastError"`
}

// DeliveryOf returns the only delivery of an event.
func DeliveryOf(tb testing.TB, app core.App, eventID string) Delivery {
	tb.Helper()
	var found Delivery
	err := app.DB().NewQuery("SELECT * FROM deliveries WHERE event = {:event}").
		Bind(dbx.Params{"event": eventID}).One(&found)
	if err != nil {
		tb.Fatal(err)
	}
	return found
}

// AddContact adds a contact without an event.
func AddContact(tb testing.TB, app core.App, tenantID, id string) {
	tb.Helper()
	Execute(tb, app, "INSERT INTO contacts (id, tenant, name, created, updated) "+
		"VALUES ({:id}, {:tenant}, 'Grace', {:at}, {:at})",
		dbx.Params{"id": id, "tenant": tenantID, "at": stamp.Stored(time.Now())})
}

// Execute runs SQL on the app's database.
func Execute(tb testing.TB, app core.App, query string, params dbx.Params) {
	tb.Helper()
	if _, err := app.NonconcurrentDB().NewQuery(query).Bind(params).Execute(); err != nil {
		tb.Fatalf("%s: %v", query, err)
	}
}

// Count returns the number that a query returns.
func Count(tb testing.TB, app core.App, query string, params dbx.Params) int {
	tb.Helper()
	var n int
	if err := app.DB().NewQuery(query).Bind(params).Row(&n); err != nil {
		tb.Fatalf("%s: %v", query, err)
	}
	return n
}
