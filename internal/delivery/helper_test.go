package delivery_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/delivery"
	"contactbase/internal/event"
	"contactbase/internal/safehttp"
)

var loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}

// client reaches the servers that tests start on 127.0.0.1.
func client() *http.Client { return safehttp.New(safehttp.Options{Allow: loopback}) }

func sender() *delivery.Sender { return delivery.NewSender(client(), "1.2.3") }

// clock is a clock that a test moves.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock { return &clock{now: time.Now().UTC().Truncate(time.Millisecond)} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// emit writes an event about the contact with its deliveries, as a hook does, and returns its id.
func emit(tb testing.TB, app core.App, tenant, contact string, kind event.Kind) string {
	tb.Helper()
	e := &event.Event{Kind: kind, TenantID: tenant, Contact: contact, Data: map[string]string{"id": contact, "email": "grace@example.com"}}
	err := app.RunInTransaction(func(tx core.App) error { return delivery.Emit(tx, e, time.Now()) })
	if err != nil {
		tb.Fatal(err)
	}
	return e.ID
}

// row is what a test looks at of a delivery.
type row struct {
	ID          string `db:"id"`
	Status      string `db:"status"`
	Attempts    int    `db:"attempts"`
	NextAttempt string `db:"nextAttempt"`
	LastStatus  int    `db:"lastStatus"`
	LastError   string `db:"lastError"`
	LeaseUntil  string `db:"leaseUntil"`
}

// deliveryOf returns the delivery of the event to the only webhook that has one.
func deliveryOf(tb testing.TB, app core.App, eventID string) row {
	tb.Helper()
	var found row
	err := app.DB().NewQuery("SELECT * FROM deliveries WHERE event = {:event}").Bind(dbx.Params{"event": eventID}).One(&found)
	if err != nil {
		tb.Fatal(err)
	}
	return found
}

// execute runs SQL on the app's database.
func execute(tb testing.TB, app core.App, query string, params dbx.Params) {
	tb.Helper()
	if _, err := app.NonconcurrentDB().NewQuery(query).Bind(params).Execute(); err != nil {
		tb.Fatalf("%s: %v", query, err)
	}
}

// count returns what a query counts.
func count(tb testing.TB, app core.App, query string, params dbx.Params) int {
	tb.Helper()
	var n int
	if err := app.DB().NewQuery(query).Bind(params).Row(&n); err != nil {
		tb.Fatalf("%s: %v", query, err)
	}
	return n
}

// deadline returns a context that only a hanging test sees the end of.
func deadline(tb testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	tb.Cleanup(cancel)
	return ctx
}

// receiver serves on 127.0.0.1 until the test ends.
func receiver(tb testing.TB, handler http.HandlerFunc) string {
	tb.Helper()
	server := httptest.NewServer(handler)
	tb.Cleanup(server.Close)
	return server.URL
}
