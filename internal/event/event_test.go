package event_test

import (
	"errors"
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

// A payload has the properties of its kind, and no empty ones.
func TestPayload(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		event event.Event
		want  string
	}{
		{event.Event{Kind: event.ContactCreated, Data: map[string]any{}}, `"data":{}}`},
		{event.Event{Kind: event.ContactUpdated, Data: encoded(`{"id":"a"}`), Previous: map[string]any{"name": "Ada"}}, `"data":{"id":"a"},"previous":{"name":"Ada"}}`},
		{event.Event{Kind: event.ContactUpdated, Data: map[string]any{}, Previous: map[string]any{}}, `"data":{}}`},
		{event.Event{Kind: event.ContactDeleted, Data: map[string]any{}, MergedInto: "b"}, `"data":{},"mergedInto":"b"}`},
		{event.Event{Kind: event.ContactCreated, Data: map[string]any{}, Source: event.Source{Type: event.FromKey, ID: "k", Person: "Ada"}}, `"data":{},"source":{"type":"key","id":"k"}}`},
		{event.Event{Kind: event.ContactDeleted, Data: map[string]any{}, MergedInto: "b", Source: event.Source{Type: event.FromMember, Merge: true}}, `"data":{},"mergedInto":"b","source":{"type":"member","merge":true}}`},
	} {
		if _, err := event.Insert(&tt.event, now); err != nil {
			t.Fatal(err)
		}
		want := `{"id":"evt_` + tt.event.ID + `","type":"` + string(tt.event.Kind) + `","timestamp":"2026-01-31T12:00:00.123Z",` + tt.want
		if tt.event.Payload != want {
			t.Errorf("got the payload\n%s, want\n%s", tt.event.Payload, want)
		}
	}
}

// An event whose payload cannot be encoded is not written.
func TestPayloadsThatCannotBeEncoded(t *testing.T) {
	t.Parallel()
	for _, e := range []event.Event{{Data: func() {}}, {Data: encoded("")}, {Previous: map[string]any{"name": func() {}}}} {
		if statement, err := event.Insert(&e, now); err == nil || statement.Text != "" {
			t.Errorf("%+v gives %+v", e, statement)
		}
	}
}

type encoded string

func (e encoded) AppendJSON(b []byte) ([]byte, error) {
	if e == "" {
		return b, errors.New("cannot be encoded")
	}
	return append(b, e...), nil
}
