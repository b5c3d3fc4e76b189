package limit

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/router"

	"contactbase/internal/credential"
	"contactbase/internal/fault"
	"contactbase/routes/envelope"
)

func newEvent() (*core.RequestEvent, http.Header) {
	e := &core.RequestEvent{Event: router.Event{Response: httptest.NewRecorder(), Request: httptest.NewRequest(http.MethodGet, "/", nil)}}
	return e, e.Response.Header()
}

// However many keys a tenant creates and rotates, they may together do ten times what one may. Other tenants have a
// limit of their own.
func TestKeysOfATenantShareALimit(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	limits := New(func() time.Time { return now })
	send := func(tenant string, key int) (*fault.Error, http.Header) {
		e, header := newEvent()
		err := limits.Spend(e, &credential.Identity{KeyID: fmt.Sprint("key", key), TenantID: tenant, RateLimit: 60}, 1)
		if err == nil {
			return nil, header
		}
		var refused *fault.Error
		if !errors.As(err, &refused) {
			t.Fatal(err)
		}
		return refused, header
	}
	passed := 0
	var refused *fault.Error
	var header http.Header
	for key := range 4_000 {
		var f *fault.Error
		if f, header = send("mints", key); f == nil {
			passed++
		} else {
			refused = f
		}
	}
	if passed != 100 { // ten times the burst of 10
		t.Errorf("%d of 4,000 requests by 4,000 keys passed", passed)
	}
	if refused == nil || refused.Code != fault.RateLimited || refused.RetryAfter != time.Second || header.Get("RateLimit") != `"key";r=10;t=0` {
		t.Errorf("the last one gets %+v, RateLimit %q", refused, header.Get("RateLimit"))
	}
	if f, _ := send("other", 1); f != nil {
		t.Errorf("another tenant gets %v", f)
	}
	now = now.Add(time.Minute)
	passed = 0
	for key := range 4_000 {
		if f, _ := send("mints", key); f == nil {
			passed++
		}
	}
	if passed != 100 {
		t.Errorf("after a minute without requests, %d passed", passed)
	}
}

// A key that is over its limit takes nothing from the other keys of its tenant, and a tenant that is over its limit
// nothing from its keys.
func TestRefusedRequestsCountForNobody(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	limits := New(func() time.Time { return now })
	send := func(key, requests int) error {
		e, _ := newEvent()
		return limits.Spend(e, &credential.Identity{KeyID: fmt.Sprint("key", key), TenantID: "t", RateLimit: 60}, requests)
	}
	for range 1_000 {
		_ = send(0, 1)
	}
	for key := 1; key < 10; key++ {
		if err := send(key, 10); err != nil {
			t.Errorf("key %d gets %v", key, err)
		}
	}
	var last *fault.Error
	for range 100 {
		errors.As(send(10, 10), &last)
	}
	if last == nil {
		t.Fatal("the tenant has no limit")
	}
	now = now.Add(time.Duration(envelope.WholeSeconds(last.RetryAfter)) * time.Second)
	if err := send(10, 10); err != nil {
		t.Errorf("after Retry-After: %v", err)
	}
}

// Checking costs nothing, and gives the same answer as the next request.
func TestCheck(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	limits := New(func() time.Time { return now })
	caller := &credential.Identity{KeyID: "key", TenantID: "t", RateLimit: 60}
	for left := 10; left >= 0; left-- {
		for range 20 {
			e, header := newEvent()
			err := limits.Check(e, caller)
			if (err != nil) != (left == 0) || header.Get("RateLimit") != fmt.Sprintf(`"key";r=%d;t=%d`, left, 10-left) {
				t.Fatalf("with %d left: %v, %v", left, err, header)
			}
		}
		e, _ := newEvent()
		if err := limits.Spend(e, caller, 1); (err != nil) != (left == 0) {
			t.Errorf("with %d left, a request gets %v", left, err)
		}
	}
}
