package payload

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

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
			chained := len(p.Items) == 1 && p.Items[0].Chain != nil
			if chained != tt.chained || tt.ping != (len(p.Items) == 0) {
				t.Errorf("got %+v", p)
			}
		})
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
	it := decodeEventItem(t, "contact.created", `{"id":"a1","email":["x"]}`, "null")
	if it.Err == nil || it.Err.Fields["email"].Code != fault.CodeInvalidType {
		t.Errorf("got %v", it.Err)
	}
	it = decodeEventItem(t, "contact.created", `{"id":"a1","email":"x","e-mail":"y","tags":[1],"score":5}`, "null")
	want := map[string]any{"e-mail": "y", "score": "5", "tags": []any{json.Number("1")}}
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
	if len(p.Items) != 1 || p.Items[0].Chain == nil {
		t.Fatalf("not an event: %s", body)
	}
	return p.Items[0]
}

func TestKeysOfOrdinaryItems(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, body string
		want       []Key
	}{
		{"nothing", `{"name":"Ada"}`, nil},
		{"an id alone counts", `{"id":"abc","externalId":"7","email":"a@example.com"}`, []Key{{Field: "id", Value: "abc", Only: true}}},
		{"externalId, then email", `{"externalId":"7","email":"a@example.com"}`, []Key{{Field: "externalId", Value: "7"}, {Field: "email", Value: "a@example.com"}}},
		{"no value is not a key", `{"externalId":null,"email":""}`, nil},
		{"a deletion", `{"action":"delete","email":"a@example.com"}`, []Key{{Field: "email", Value: "a@example.com"}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p, err := Decode(asJSON, []byte(tt.body), nil)
			if err != nil {
				t.Fatal(err)
			}
			if got := p.Items[0].Keys(); !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
}

func TestKeysOfEvents(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name           string
		kind           event.Kind
		data, previous string
		want           []Key
	}{
		{
			"a contact without an externalId", event.ContactCreated, `{"id":"a1","name":"Ada","email":"a@example.com","externalId":null}`, "null",
			[]Key{{Field: "id", Value: "a1"}, {Field: "externalId", Value: "a1", link: linkSet}, {Field: "email", Value: "a@example.com", Unlinked: true, names: []string{"Ada"}, link: linkFill}},
		},
		{
			"a contact with an externalId", event.ContactCreated, `{"id":"b1","email":null,"externalId":"a1"}`, "null",
			[]Key{
				{Field: "id", Value: "b1"}, {Field: "externalId", Value: "a1", link: linkSet}, {Field: "id", Value: "a1", link: linkKeep},
				{Field: "externalId", Value: "b1", link: linkSet},
			},
		},
		{
			"what changed", event.ContactUpdated, `{"id":"b1","email":"new@example.com","externalId":null}`, `{"externalId":"a1","email":"old@example.com"}`,
			[]Key{
				{Field: "id", Value: "b1"}, {Field: "externalId", Value: "b1", link: linkSet},
				{Field: "externalId", Value: "a1", link: linkSet}, {Field: "id", Value: "a1", link: linkFill},
				{Field: "email", Value: "new@example.com", Unlinked: true, link: linkFill}, {Field: "email", Value: "old@example.com", Unlinked: true, link: linkFill},
			},
		},
		{
			"a deletion is never matched by email", event.ContactDeleted, `{"id":"b1","email":"a@example.com","externalId":"a1"}`, "null",
			[]Key{
				{Field: "id", Value: "b1"}, {Field: "externalId", Value: "a1", link: linkSet}, {Field: "id", Value: "a1", link: linkKeep},
				{Field: "externalId", Value: "b1", link: linkSet},
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := decodeEventItem(t, tt.kind, tt.data, tt.previous).Keys(); !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got\n%+v, want\n%+v", got, tt.want)
			}
		})
	}
}

func TestAgainst(t *testing.T) {
	t.Parallel()
	type values = map[string]string
	const before, then, after = "2026-01-01T10:00:00.000Z", "2026-01-01T11:00:00.000Z", "2026-01-01T12:00:00.000Z"
	tests := []struct {
		name           string
		kind           event.Kind
		data, previous string
		link           link
		local          values
		localUpdated   string
		want           map[string]any
	}{
		{"unchanged values are not written", event.ContactCreated, `{"name":"Ada","phone":null}`, "null", linkKeep, values{"name": "Ada"}, before, map[string]any{}},
		{"a creation fills", event.ContactCreated, `{"name":"Ada","phone":null}`, "null", linkKeep, values{"phone": "+1"}, after, map[string]any{"name": "Ada"}},
		{"a later creation overwrites", event.ContactCreated, `{"name":"Ada"}`, "null", linkKeep, values{"name": "Bea"}, before, map[string]any{"name": "Ada"}},
		{"an earlier creation does not", event.ContactCreated, `{"name":"Ada"}`, "null", linkKeep, values{"name": "Bea"}, after, map[string]any{}},
		{"a tie changes nothing", event.ContactCreated, `{"name":"Ada"}`, "null", linkKeep, values{"name": "Bea"}, then, map[string]any{}},

		{"a change is written", event.ContactUpdated, `{"name":"New","phone":null}`, `{"name":"Old","phone":"+1"}`, linkKeep, values{"name": "Old", "phone": "+1"}, after, map[string]any{"name": "New", "phone": nil}},
		{"unchanged fields are not written", event.ContactUpdated, `{"name":"New","company":"There"}`, `{"name":"Old"}`, linkKeep, values{"name": "Old", "company": "Here"}, before, map[string]any{"name": "New"}},
		{"a later change of the same field counts", event.ContactUpdated, `{"name":"New"}`, `{"name":"Old"}`, linkKeep, values{"name": "Mine"}, before, map[string]any{"name": "New"}},
		{"an earlier change does not", event.ContactUpdated, `{"name":"New"}`, `{"name":"Old"}`, linkKeep, values{"name": "Mine"}, after, map[string]any{}},
		{"a custom field", event.ContactUpdated, `{"plan":"pro","vip":"true"}`, `{"plan":null}`, linkKeep, values{}, after, map[string]any{"plan": "pro"}},
		{"an update that does not say what changed", event.ContactUpdated, `{"name":"Ada"}`, "null", linkKeep, values{"name": "Bea"}, after, map[string]any{}},

		{"ours stays", event.ContactCreated, `{"externalId":"a1"}`, "null", linkKeep, values{"externalId": "crm-7"}, before, map[string]any{}},
		{"linked by the id there", event.ContactCreated, `{"externalId":null}`, "null", linkFill, values{}, after, map[string]any{"externalId": "x1"}},
		{"linked by the externalId there", event.ContactCreated, `{"externalId":"crm-7"}`, "null", linkFill, values{}, after, map[string]any{"externalId": "crm-7"}},
		{"already linked", event.ContactCreated, `{"externalId":"crm-7"}`, "null", linkFill, values{"externalId": "crm-8"}, before, map[string]any{}},
		{"a copy gets the new externalId", event.ContactUpdated, `{"externalId":"crm-7"}`, `{"externalId":null}`, linkSet, values{"externalId": "x1"}, after, map[string]any{"externalId": "crm-7"}},
		{"a copy falls back to the id there", event.ContactUpdated, `{"externalId":null}`, `{"externalId":"crm-7"}`, linkSet, values{"externalId": "crm-7"}, after, map[string]any{"externalId": "x1"}},
		{"the same contact is cleared", event.ContactUpdated, `{"externalId":null}`, `{"externalId":"crm-7"}`, linkAsSent, values{"externalId": "crm-7"}, after, map[string]any{"externalId": nil}},
		{"the same contact without a change", event.ContactUpdated, `{"externalId":null}`, `{"name":null}`, linkAsSent, values{"externalId": "crm-7"}, before, map[string]any{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var data map[string]any
			if err := json.Unmarshal([]byte(tt.data), &data); err != nil {
				t.Fatal(err)
			}
			data["id"], data["updatedAt"] = "x1", then
			raw, err := json.Marshal(data)
			if err != nil {
				t.Fatal(err)
			}
			updated, err := time.Parse(time.RFC3339, tt.localUpdated)
			if err != nil {
				t.Fatal(err)
			}
			item := decodeEventItem(t, tt.kind, string(raw), tt.previous)
			reduced := item.Against(Key{link: tt.link}, Local{Values: tt.local, Updated: updated})
			got := reduced.Fields
			for name, v := range reduced.Extra {
				got[name] = v
			}
			if !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
			if again := decodeEventItem(t, tt.kind, string(raw), tt.previous); !reflect.DeepEqual(item, again) {
				t.Error("Against changed the item")
			}
		})
	}
}

func TestAgainstLeavesOrdinaryItemsAlone(t *testing.T) {
	t.Parallel()
	p, err := Decode(asJSON, []byte(`{"name":"Ada","phone":null,"plan":"pro"}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	got := p.Items[0].Against(Key{Field: "email"}, Local{Values: map[string]string{"name": "Ada", "phone": "+1"}})
	if !reflect.DeepEqual(got, p.Items[0]) {
		t.Errorf("got %+v", got)
	}
}
