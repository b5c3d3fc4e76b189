package event_test

import (
	"testing"
	"time"

	"contactbase/internal/event"
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
