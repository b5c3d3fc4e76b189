package event_test

import (
	"testing"
	"time"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/event"
	"contactbase/internal/recordid"
	"contactbase/internal/testkit"
)

var now = time.Date(2026, 1, 31, 13, 0, 0, 123_000_000, time.FixedZone("", 3600))

// Receivers get and verify the bytes of a payload: no character is escaped without need.
func TestWrite(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	tenant := testkit.Tenant(t, app, "Acme")
	e := &event.Event{
		Kind: event.ContactUpdated, TenantID: tenant, Contact: "c1",
		Data: map[string]any{"name": "Zoë <&>"}, Previous: map[string]any{"name": nil},
	}
	if err := testkit.WriteEvent(app, e, now); err != nil {
		t.Fatal(err)
	}
	var row struct {
		ID      string `db:"id"`
		Tenant  string `db:"tenant"`
		Type    string `db:"type"`
		Contact string `db:"contact"`
		Payload string `db:"payload"`
		Created string `db:"created"`
	}
	if err := app.DB().Select("id", "tenant", "type", "contact", "payload", "created").From("events").One(&row); err != nil {
		t.Fatal(err)
	}
	want := `{"id":"evt_` + e.ID + `","type":"contact.updated","timestamp":"2026-01-31T12:00:00.123Z","data":{"name":"Zoë <&>"},"previous":{"name":null}}`
	if row.Payload != want {
		t.Errorf("got the payload\n%s, want\n%s", row.Payload, want)
	}
	if row.ID != e.ID || row.Tenant != tenant || row.Type != "contact.updated" || row.Contact != "c1" || row.Created != "2026-01-31 12:00:00.123Z" {
		t.Errorf("the row is %+v", row)
	}
}

// An event that forwards another installation's event has its id, unless that id is invalid, already used here, or not of the last day: the feed
// uses an older one as its beginning, and others may be those of deleted events.
func TestCause(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	tenant, other := testkit.Tenant(t, app, "Acme"), testkit.Tenant(t, app, "Other")
	write := func(tenant, cause string) string {
		t.Helper()
		e := &event.Event{Kind: event.ContactCreated, TenantID: tenant, Cause: cause}
		if err := testkit.WriteEvent(app, e, now); err != nil {
			t.Fatal(err)
		}
		return e.ID
	}
	cause := recordid.New(now.Add(-time.Hour))
	if id := write(tenant, "evt_"+cause); id != cause {
		t.Errorf("the id is %s, not that of the cause", id)
	}
	for _, taken := range []string{
		"evt_" + cause, "evt_UPPER0123456789", "evt_short", "",
		"evt_" + event.Beginning, "evt_zzzzzzzzzzzzzzz", "evt_" + recordid.New(now.Add(time.Second)), "evt_" + recordid.New(now.Add(-24*time.Hour)),
	} {
		if id := write(other, taken); "evt_"+id == taken || len(id) != len(cause) {
			t.Errorf("with the cause %q the id is %s", taken, id)
		}
	}
	for _, tt := range []struct {
		tenant string
		want   bool
	}{{tenant, true}, {other, false}} {
		err := app.RunInTransaction(func(tx core.App) error {
			known, err := event.Known(tx, tt.tenant, "evt_"+cause)
			if known != tt.want {
				t.Errorf("known to %s: %t", tt.tenant, known)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
