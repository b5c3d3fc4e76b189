package idempotency_test

import (
	"errors"
	"testing"
	"time"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/idempotency"
	"contactbase/internal/sqlite"
	"contactbase/internal/testkit"
)

var now = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func remember(t *testing.T, app core.App, id, fingerprint string, a *idempotency.Answer, at time.Time) {
	t.Helper()
	_, err := sqlite.Write(app, func(tx sqlite.Reader) ([]sqlite.Statement, error) {
		return idempotency.Remember(tx, id, fingerprint, a, at)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestRemember(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	tenant := testkit.Tenant(t, app, "Acme")
	id, request := idempotency.ID("key", "one"), idempotency.Fingerprint([]byte("{}"))
	answer := idempotency.Answer{Status: 201, Location: "/contacts/c1", Body: `{"data":{}}`, Contact: "c1", Tenant: tenant}
	remember(t, app, id, request, &answer, now)
	for _, tt := range []struct {
		name, tenant, id, request string
		at                        time.Time
		want                      *idempotency.Answer
		err                       error
	}{
		{"the same", tenant, id, request, now.Add(idempotency.Window - time.Millisecond), &answer, nil},
		{"after the window", tenant, id, request, now.Add(idempotency.Window), nil, nil},
		{"another key", tenant, idempotency.ID("key", "two"), request, now, nil, nil},
		{"another scope", tenant, idempotency.ID("keyone"), request, now, nil, nil},
		{"another tenant", "somebody", id, request, now, nil, nil},
		{"another request", tenant, id, idempotency.Fingerprint([]byte("[]")), now, &answer, idempotency.ErrReused},
	} {
		found, err := idempotency.Find(sqlite.ReaderOf(app), tt.tenant, tt.id, tt.request, tt.at)
		if !errors.Is(err, tt.err) || (found == nil) != (tt.want == nil) || found != nil && *found != *tt.want {
			t.Errorf("%s: found %+v (%v)", tt.name, found, err)
		}
	}

	second := idempotency.Answer{Status: 200, Body: "later", Tenant: tenant}
	remember(t, app, id, request, &second, now.Add(idempotency.Window))
	if found, err := idempotency.Find(sqlite.ReaderOf(app), tenant, id, request, now.Add(idempotency.Window)); err != nil || found == nil || *found != second {
		t.Errorf("after the window, the next response is remembered as %+v (%v)", found, err)
	}
}

func TestEraseAndPrune(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	tenant := testkit.Tenant(t, app, "Acme")
	left := func() (ids []string) {
		if err := app.DB().NewQuery("SELECT key FROM _idempotency ORDER BY key").Column(&ids); err != nil {
			t.Fatal(err)
		}
		return ids
	}
	for id, contact := range map[string]string{"a": "c1", "b": "c2", "c": ""} {
		remember(t, app, id, "request", &idempotency.Answer{Status: 201, Body: "{}", Contact: contact, Tenant: tenant}, now)
	}
	remember(t, app, "d", "request", &idempotency.Answer{Status: 201, Tenant: tenant}, now.Add(time.Second))
	for _, contact := range []string{"c1", ""} {
		if err := idempotency.Erase(app, []string{contact}); err != nil {
			t.Fatal(err)
		}
	}
	if ids := left(); len(ids) != 4 {
		t.Errorf("after erasing a contact, %v are left", ids)
	}
	for id, want := range map[string]string{"a": "", "b": "{}", "c": "{}"} {
		if found, err := idempotency.Find(sqlite.ReaderOf(app), tenant, id, "request", now); err != nil || found == nil || found.Body != want {
			t.Errorf("after erasing a contact, the response %s is %+v (%v)", id, found, err)
		}
	}
	for _, want := range []int{1, 1, 1, 0} {
		if gone, err := idempotency.Prune(app, 1, now.Add(idempotency.Window)); err != nil || gone != want {
			t.Errorf("deleted %d (%v), want %d", gone, err, want)
		}
	}
	if ids := left(); len(ids) != 1 || ids[0] != "d" {
		t.Errorf("after pruning, %v are left", ids)
	}
}

func TestInFlight(t *testing.T) {
	t.Parallel()
	var running idempotency.InFlight
	end, ok := running.Begin("a")
	if _, twice := running.Begin("a"); !ok || twice {
		t.Errorf("claiming a key twice: %t, %t", ok, twice)
	}
	if _, other := running.Begin("b"); !other {
		t.Error("another key cannot be claimed")
	}
	end()
	if _, again := running.Begin("a"); !again {
		t.Error("a released key cannot be claimed")
	}
}
