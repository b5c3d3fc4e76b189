package delivery_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"sync"
	"testing"
	"time"

	"contactbase/internal/delivery"
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
