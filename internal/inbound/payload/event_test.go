package payload

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"

	"contactbase/internal/contact"
	"contactbase/internal/event"
	"contactbase/internal/fault"
)

func TestEventIsRecognised(t *testing.T) {
	t.Parallel()
	const good = `{"id":"evt_1","type":"contact.created","timestamp":"2026-01-01T00:00:00.000Z","data":{"id":"a1","email":"a@example.com"}}`
	tests := []struct {
		name, body    string
		chained, ping bool
	}{
		{"ours", good, true, false},
		{"a ping", `{"id":"evt_1","type":"webhook.ping","timestamp":"t","data":null}`, false, true},
		{"an event of an extension", `{"id":"evt_1","type":"order.paid","timestamp":"t","data":{"id":"c1","email":"ada@example.com"},"source":{"type":"extension"}}`, false, true},
		{"an event of a later version", `{"id":"evt_1","type":"contact.merged-later","timestamp":"t","data":{"id":"c1"}}`, false, true},
		{"an event about a webhook", `{"id":"evt_1","type":"webhook.failing","timestamp":"t","data":{"webhook":{"id":"w1"}}}`, false, true},
		{"a ping in a form", "form:id=evt_1&type=webhook.ping&timestamp=t", false, true},
		{"another's id", `{"id":"1","type":"contact.created","timestamp":"t","data":{"id":"a1"}}`, false, false},
		{"another's type", `{"id":"evt_1","type":"customer.created","timestamp":"t","data":{"id":"a1"}}`, false, false},
		{"no timestamp", `{"id":"evt_1","type":"contact.created","data":{"id":"a1"}}`, false, false},
		{"no data", `{"id":"evt_1","type":"contact.created","timestamp":"t"}`, false, false},
		{"data without an id", `{"id":"evt_1","type":"contact.created","timestamp":"t","data":{"email":"a@example.com"}}`, false, false},
		{"in an array", "[" + good + "]", false, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			contentType, body := asJSON, tt.body
			if form, ok := cutForm(body); ok {
				contentType, body = asForm, form
			}
			p, err := Decode(contentType, []byte(body), nil)
			if err != nil {
				t.Fatal(err)
			}
			chained := len(p.Items) == 1 && p.Items[0].IsEvent()
			if chained != tt.chained || tt.ping != (len(p.Items) == 0) {
				t.Errorf("got %+v", p)
			}
		})
	}
}

// An event of every kind is one: a contact's changes the contact, and any other does nothing. One that is not recognized
// would make a contact of the webhook or key in it.
func TestEventsOfEveryKind(t *testing.T) {
	t.Parallel()
	for _, kind := range event.Kinds {
		body := `{"id":"evt_1","type":"` + kind + `","timestamp":"t","data":{"id":"a1","name":"Ada","email":"ada@example.com"}}`
		p, err := Decode(asJSON, []byte(body), nil)
		if err != nil {
			t.Fatal(err)
		}
		isContact := slices.Contains(contactKinds, event.Kind(kind))
		if changes := len(p.Items) == 1 && p.Items[0].IsEvent(); changes != isContact || !isContact && len(p.Items) > 0 {
			t.Errorf("%s is read as %+v", kind, p)
		}
	}
}

func cutForm(body string) (string, bool) {
	const mark = "form:"
	if len(body) > len(mark) && body[:len(mark)] == mark {
		return body[len(mark):], true
	}
	return "", false
}

func TestEventNeedsPlainValues(t *testing.T) {
	t.Parallel()
	it := decodeEventItem(t, "contact.created", `{"id":"a1","email":["x","y"]}`, "null")
	if it.Err == nil || it.Err.Fields["email"].Code != fault.CodeInvalidType {
		t.Errorf("got %v", it.Err)
	}
	it = decodeEventItem(t, "contact.created", `{"id":"a1","email":"x","e-mail":"y","tags":[1],"score":5}`, "null")
	want := map[string]any{"e-mail": "y", "score": json.Number("5"), "tags": []any{json.Number("1")}}
	if it.Err != nil || it.Fields["email"] != "x" || !reflect.DeepEqual(it.Extra, want) || len(it.Warnings) != 0 {
		t.Errorf("got %+v", it)
	}
}

// decodeEventItem decodes an event; data and previous are JSON.
func decodeEventItem(t *testing.T, kind event.Kind, data, previous string) Item {
	t.Helper()
	body := `{"id":"evt_1","type":"` + string(kind) + `","timestamp":"2026-01-01T00:00:00.000Z","data":` + data + `,"previous":` + previous + `}`
	p, err := Decode(asJSON, []byte(body), nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Items) != 1 || !p.Items[0].IsEvent() {
		t.Fatalf("not an event: %s", body)
	}
	return p.Items[0]
}

func TestKeysOfOrdinaryItems(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, body string
		action     contact.Action
		want       []contact.Key
	}{
		{"nothing", `{"name":"Ada"}`, contact.Create, nil},
		{"an id alone counts", `{"id":"0abcdefghij1234","externalId":"7","email":"a@example.com"}`, contact.Update, []contact.Key{{Field: "id", Value: "0abcdefghij1234"}}},
		{"another system's id", `{"id":"7","email":"a@example.com"}`, contact.Upsert, []contact.Key{{Field: "email", Value: "a@example.com"}}},
		{"a deletion by another system's id", `{"action":"delete","id":7}`, contact.Delete, nil},
		{"externalId, then email", `{"externalId":"7","email":"a@example.com"}`, contact.Upsert, []contact.Key{{Field: "externalId", Value: "7"}, {Field: "email", Value: "a@example.com"}}},
		{"no value is not a key", `{"externalId":null,"email":""}`, contact.Create, nil},
		{"a deletion", `{"action":"delete","email":"a@example.com"}`, contact.Delete, []contact.Key{{Field: "email", Value: "a@example.com"}}},
		{"a deletion by id", `{"action":"delete","id":"0abcdefghij1234"}`, contact.Delete, []contact.Key{{Field: "id", Value: "0abcdefghij1234"}}},
		{"a deletion of nobody", `{"action":"delete"}`, contact.Delete, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p, err := Decode(asJSON, []byte(tt.body), nil)
			if err != nil {
				t.Fatal(err)
			}
			if got := p.Items[0]; got.Action != tt.action || !reflect.DeepEqual(got.Match, tt.want) {
				t.Errorf("got %s %+v, want %s %+v", got.Action, got.Match, tt.action, tt.want)
			}
		})
	}
}

func TestEvents(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name           string
		kind           event.Kind
		data, previous string
		match          string // the externalId of the copy
		externalID     string // that it gets
		changed        []string
	}{
		{"a creation", event.ContactCreated, `{"id":"a1","name":"Ada","externalId":null}`, "null", "a1", "a1", []string{"externalId"}},
		{"a creation with an externalId", event.ContactCreated, `{"id":"a1","externalId":"7"}`, "null", "7", "7", []string{"externalId"}},
		{"a change", event.ContactUpdated, `{"id":"a1","name":"Ada","phone":"+1","plan":"pro"}`, `{"plan":null,"name":"Bea"}`, "a1", "a1", []string{"externalId", "name", "plan"}},
		{"a first externalId", event.ContactUpdated, `{"id":"a1","externalId":"7"}`, `{"externalId":null}`, "a1", "7", []string{"externalId"}},
		{"another externalId", event.ContactUpdated, `{"id":"a1","externalId":"8"}`, `{"externalId":"7"}`, "7", "8", []string{"externalId"}},
		{"no externalId any more", event.ContactUpdated, `{"id":"a1","externalId":null}`, `{"externalId":"7","name":null}`, "7", "a1", []string{"externalId", "name"}},
		{"a deletion", event.ContactDeleted, `{"id":"a1","email":"a@example.com","externalId":"7"}`, "null", "7", "7", []string{"externalId"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			it := decodeEventItem(t, tt.kind, tt.data, tt.previous)
			if (it.Action == contact.Delete) != (tt.kind == event.ContactDeleted) || it.Fields["externalId"] != tt.externalID {
				t.Errorf("got %+v", it)
			}
			if want := []contact.Key{{Field: "externalId", Value: tt.match}}; !reflect.DeepEqual(it.Match, want) || !reflect.DeepEqual(it.Changed, tt.changed) {
				t.Errorf("got %v %v, want %v %v", it.Match, it.Changed, want, tt.changed)
			}
		})
	}
}
