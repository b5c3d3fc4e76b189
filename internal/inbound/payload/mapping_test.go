package payload

import (
	"encoding/json"
	"fmt"
	"net/url"
	"reflect"
	"strings"
	"testing"

	"contactbase/internal/contact"
	"contactbase/internal/contact/written"
	"contactbase/internal/fault"
)

func TestParseMappingRefuses(t *testing.T) {
	t.Parallel()
	many := func(n int, format string) string {
		parts := make([]string, n)
		for i := range parts {
			parts[i] = fmt.Sprintf(format, i)
		}
		return strings.Join(parts, ",")
	}
	tests := []struct {
		name, mapping, part string // the invalid part
	}{
		{"not JSON", `{"items":`, ""},
		{"not an object", `["email"]`, ""},
		{"two values", `{} {}`, ""},
		{"an unknown setting", `{"field":{"email":"e"}}`, "field"},
		{"an unknown preset", `{"preset":"fax"}`, "preset"},
		{"a preset that is not a name", `{"preset":1}`, "preset"},
		{"items that is not a path", `{"items":["a"]}`, "items"},
		{"an empty path", `{"items":""}`, "items"},
		{"action that is not a path", `{"action":null}`, "action"},
		{"deleteWhen without action", `{"deleteWhen":["gone"]}`, "deleteWhen"},
		{"deleteWhen that is not a list", `{"action":"a","deleteWhen":"gone"}`, "deleteWhen"},
		{"a list in deleteWhen", `{"action":"a","deleteWhen":["x",[]]}`, "deleteWhen[1]"},
		{"an empty text in deleteWhen", `{"action":"a","deleteWhen":[""]}`, "deleteWhen[0]"},
		{"a long deleteWhen", `{"action":"a","deleteWhen":[` + many(maxDeleteWhen+1, "%d") + `]}`, "deleteWhen"},
		{"no fields", `{"fields":{}}`, "fields"},
		{"fields that are not an object", `{"fields":"email"}`, "fields"},
		{"too many fields", `{"fields":{` + many(maxMappingFields+1, `"f%d":"a"`) + `}}`, "fields"},
		{"too many paths", `{"fields":{"email":[` + many(maxMappingPaths+1, `"p%d"`) + `]}}`, "fields"},
		{"a name with a dash", `{"fields":{"e-mail":"e"}}`, "fields.e-mail"},
		{"a name that begins with a digit", `{"fields":{"2nd":"e"}}`, "fields.2nd"},
		{"the action among the fields", `{"fields":{"action":"e"}}`, "fields.action"},
		{"a number as a path", `{"fields":{"email":5}}`, "fields.email"},
		{"a list as a path of a list", `{"fields":{"email":["a",["b"]]}}`, "fields.email[1]"},
		{"an empty list", `{"fields":{"email":[]}}`, "fields.email"},
		{"a join of one", `{"fields":{"name":{"join":["a"]}}}`, "fields.name"},
		{"a join of four", `{"fields":{"name":{"join":["a","b","c","d"]}}}`, "fields.name"},
		{"a join with more", `{"fields":{"name":{"join":["a","b"],"with":"-"}}}`, "fields.name"},
		{"a join of numbers", `{"fields":{"name":[{"join":["a",1]}]}}`, "fields.name[0].join[1]"},
		{"a long path", `{"fields":{"email":"` + strings.Repeat("a", maxPath+1) + `"}}`, "fields.email"},
		{"an unknown modifier", `{"fields":{"email":"e.@upper"}}`, "fields.email"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m, err := ParseMapping([]byte(tt.mapping))
			if codeOf(err) != fault.ValidationFailed {
				t.Fatalf("got %+v, %v", m, err)
			}
			words := strings.Split(err.Error(), ": ")
			if words[0] != "mapping" || tt.part != "" && words[1] != tt.part || len(words) < 2 {
				t.Errorf("got %q, want the part %q", err, tt.part)
			}
		})
	}
}

func TestNoMapping(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{"", " ", "null", "{}", `""`} {
		if m, err := ParseMapping([]byte(raw)); m != nil || err != nil {
			t.Errorf("%q: got %v, %v", raw, m, err)
		}
	}
}

func TestMapping(t *testing.T) {
	t.Parallel()
	type object = map[string]any
	item := func(fields object) Item {
		it := Item{Fields: object{}, Extra: object{}, Action: contact.Upsert}
		for name, v := range fields {
			switch {
			case name == FieldID:
				it.Match = []contact.Key{{Field: FieldID, Value: v.(string)}}
			case isField(name):
				it.Fields[name] = v
			default:
				it.Extra[name] = v
			}
		}
		it.finish()
		return it
	}
	with := func(it Item, change func(*Item)) Item { change(&it); return it }
	refused := func(it Item, action string) Item {
		r := refusedAction(action)
		it.Action, it.Match, it.Err = r.Action, nil, r.Err
		return it
	}
	gone := func(it Item) Item { it.Action = contact.Delete; return it }
	a, b := object{"email": "a@example.com"}, object{"email": "b@example.com"}

	tests := []struct {
		name, mapping, body string
		want                []Item
		batch               bool
	}{
		{"a path", `{"fields":{"email":"person.mail"}}`, `{"person":{"mail":"a@example.com"},"x":1}`, []Item{item(a)}, false},
		{"every kind of target", `{"fields":{"id":"i","externalId":"x","plan":"p"}}`, `{"i":"0abcdefghij1234","x":7,"p":true}`,
			[]Item{item(object{"id": "0abcdefghij1234", "externalId": "7", "plan": true})}, false},
		{"digits as sent", `{"fields":{"phone":"p","n":"list.#"}}`, `{"p":12345678901234567890,"list":[1,2]}`,
			[]Item{item(object{"phone": "12345678901234567890", "n": json.Number("2")})}, false},
		{"the first that has a value", `{"fields":{"phone":["a","b","c","d"]}}`, `{"a":null,"b":" ","c":"+1","d":"+2"}`, []Item{item(object{"phone": "+1"})}, false},
		{"no value clears nothing", `{"fields":{"phone":["a","b"],"email":"e"}}`, `{"a":null,"b":"","e":"a@example.com"}`, []Item{item(a)}, false},
		{"joined", `{"fields":{"name":{"join":["f","m","l"]}}}`, `{"f":"Ada","m":null,"l":"King"}`, []Item{item(object{"name": "Ada King"})}, false},
		{"joined or else", `{"fields":{"name":[{"join":["f","l"]},"n"]}}`, `{"f":"","n":"Ada"}`, []Item{item(object{"name": "Ada"})}, false},
		{"the last of two equal names", `{"fields":{"email":"e"}}`, `{"e":"x@example.com","e":"a@example.com"}`, []Item{item(a)}, false},
		{"a list where a value should be", `{"fields":{"company":["c","d"],"phone":["c","p"]}}`, `{"c":["x","y"],"p":"+1"}`,
			[]Item{with(item(object{"phone": "+1"}), func(it *Item) {
				it.Warnings = []string{`the mapping's path finds a list or an object, not a value: "company"`}
			})}, false},
		{"paths that find nothing", `{"preset":"intercom","items":null,"action":null,"deleteWhen":null,"fields":{"externalId":null,"email":["e","data.mail"],"company":"c","plan":"p"}}`,
			`{"data":{},"c":null,"p":""}`,
			[]Item{with(item(nil), func(it *Item) {
				it.Missing = []string{`"email" at e, data.mail`, `"name" at data.item.name`, `"phone" at data.item.phone`}
				it.Warnings = []string{`the mapping finds nothing for "email" at e, data.mail; "name" at data.item.name; "phone" at data.item.phone`}
			})}, false},
		{"another system's id", `{"fields":{"id":"i","email":"e"}}`, `{"i":7,"e":"a@example.com"}`,
			[]Item{with(item(a), func(it *Item) { it.Warnings = []string{foreignID} })}, false},
		{"text inside of text", `{"fields":{"email":"payload.@fromstr.e"}}`, `{"payload":"{\"e\":\"a@example.com\"}"}`, []Item{item(a)}, false},

		{"items", `{"items":"data.people","fields":{"email":"e"}}`, `{"data":{"people":[{"e":"a@example.com"},{"e":"b@example.com"}]}}`, []Item{item(a), item(b)}, true},
		{"one item", `{"items":"data","fields":{"email":"e"}}`, `{"data":{"e":"a@example.com"}}`, []Item{item(a)}, true},
		{"items that are texts", `{"items":"mails","fields":{"email":"@this"}}`, `{"mails":["a@example.com","b@example.com"]}`, []Item{item(a), item(b)}, true},
		{"an array without items", `{"fields":{"email":"e"}}`, `[{"e":"a@example.com"},{"e":"b@example.com"}]`, []Item{item(a), item(b)}, true},
		{"a filter that leaves nothing", `{"items":"#(t==\"x\")#","fields":{"email":"e"}}`, `[{"t":"y"}]`, nil, true},
		{"items that are null", `{"items":"a","fields":{"email":"e"}}`, `{"a":null}`, nil, true},
		{"items by the common names", `{"items":"contacts"}`, `{"contacts":[{"E-Mail":"a@example.com","action":"delete"},5]}`,
			[]Item{gone(item(a)), notAnObject()}, true},
		{"brackets of a form", `{"items":"c","fields":{"email":"e"}}`, "form:c[0][e]=a@example.com&c[1][e]=b@example.com", []Item{item(a), item(b)}, true},

		{"upsert or delete", `{"action":"a","fields":{"email":"e"}}`, `{"a":"DELETE","e":"a@example.com"}`, []Item{gone(item(a))}, false},
		{"no action", `{"action":"a","fields":{"email":"e"}}`, `{"e":"a@example.com"}`, []Item{item(a)}, false},
		{"another action", `{"action":"a","fields":{"email":"e"}}`, `{"a":"person.gone","e":"a@example.com"}`,
			[]Item{with(item(a), func(it *Item) { *it = refused(*it, "person.gone") })}, false},
		{"a list of one", `{"fields":{"company":"c","phone":"p.#.n"}}`, `{"c":["x"],"p":[{"n":"+1"}]}`,
			[]Item{item(object{"company": "x", "phone": "+1"})}, false},
		{"a word for no value", `{"fields":{"email":["a","e"],"plan":["p","q"],"note":["p","q"]}}`, `{"a":"N/A","e":"a@example.com","p":"-","q":"x"}`,
			[]Item{with(item(a), func(it *Item) { it.Extra = map[string]any{"plan": "x", "note": "-"} })}, false},
		{"an action that is a list", `{"action":"a","fields":{"email":"e"}}`, `{"a":["delete","upsert"],"e":"a@example.com"}`,
			[]Item{with(item(a), func(it *Item) { *it = refused(*it, "a list or an object") })}, false},
		{"deleteWhen", `{"action":"t","deleteWhen":["gone",5,true],"items":"l","fields":{"email":"e"}}`,
			`{"l":[{"t":"gone","e":"a@example.com"},{"t":5,"e":"a@example.com"},{"t":true,"e":"a@example.com"},{"t":"Gone","e":"a@example.com"},{"t":"delete","e":"a@example.com"},{"t":{},"e":"a@example.com"}]}`,
			[]Item{gone(item(a)), gone(item(a)), gone(item(a)), item(a), item(a), item(a)}, true},
		{"the action of the payload", `{"items":"l","action":"t","deleteWhen":["gone"],"fields":{"email":"e"}}`,
			`{"t":"gone","l":[{"e":"a@example.com"},{"t":"new","e":"b@example.com"}]}`, []Item{gone(item(a)), item(b)}, true},
		{"a property called action is not an action", `{"fields":{"email":"e"}}`, `{"action":"delete","e":"a@example.com"}`, []Item{item(a)}, false},

		{"an event of ours is a payload like any other", `{"fields":{"email":"data.email"}}`,
			`{"id":"evt_1","type":"contact.deleted","timestamp":"t","data":{"id":"x","email":"a@example.com"}}`, []Item{item(a)}, false},
		{"a value that is far too long", `{"fields":{"email":"e","name":"p"}}`, `{"e":"a@example.com","p":"` + strings.Repeat("x", maxValue+1) + `"}`,
			[]Item{with(item(a), func(it *Item) {
				it.Missing = []string{`"name" at p`}
				it.Warnings = []string{`the mapping finds nothing for "name" at p`, `a text may have at most 64 KiB; ignored: "p"`}
			})}, false},
		{"a name of two lines", `{"fields":{"email":"e","name":"p"}}`, `{"e":"a@example.com","p":"Ada\nKing"}`,
			[]Item{with(item(a), func(it *Item) { it.Fields["name"] = "Ada King" })}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			contentType, body := asJSON, tt.body
			if form, ok := strings.CutPrefix(body, "form:"); ok {
				contentType, body = asForm, form
			}
			p, err := Decode(contentType, []byte(body), mustMapping(t, tt.mapping), Own{"plan", written.IsNoValue})
			if err != nil {
				t.Fatal(err)
			}
			if p.Batch != tt.batch || !reflect.DeepEqual(p.Items, tt.want) {
				t.Errorf("got batch %v\n%+v, want\n%+v", p.Batch, p.Items, tt.want)
			}
		})
	}
}

func TestMappingRefusesPayload(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, mapping, body string
		code                fault.Code
	}{
		{"missing items", `{"items":"contacts"}`, `{"people":[]}`, fault.ValidationFailed},
		{"items that are a value", `{"items":"contacts"}`, `{"contacts":5}`, fault.ValidationFailed},
		{"an empty array", `{"fields":{"email":"e"}}`, `[]`, fault.ValidationFailed},
		{"too many items", `{"items":"c","fields":{"email":"@this"}}`, `{"c":[` + strings.Repeat("1,", MaxItems) + `1]}`, fault.PayloadTooLarge},
		{"more than is allowed", `{"items":"[@this,@this]` + strings.Repeat("|[@this,@this]|@flatten", 20) + `"}`, `{"a":1}`, fault.MappingTooCostly},
		{"malformed", `{"items":"c"}`, `{`, fault.InvalidJSON},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if _, err := Decode(asJSON, []byte(tt.body), mustMapping(t, tt.mapping)); codeOf(err) != tt.code {
				t.Errorf("got %v, want %s", err, tt.code)
			}
		})
	}
}

func TestPresets(t *testing.T) {
	t.Parallel()
	all := Presets()
	if len(all) < 8 {
		t.Errorf("only %d presets", len(all))
	}
	for _, p := range all {
		m, err := ParseMapping(p.Mapping)
		if err != nil || m == nil {
			t.Errorf("%s: %v", p.Name, err)
			continue
		}
		if docs, err := url.Parse(p.Docs); err != nil || docs.Scheme != "https" || p.Title == "" || p.About == "" {
			t.Errorf("%s: incomplete: %+v", p.Name, p)
		}
		sample := strings.ReplaceAll(p.Sample, "\r\n", "\n") // as a text area of a browser has it
		if decoded, err := Decode(p.SampleType, []byte(sample), m); err != nil || len(decoded.Items) == 0 || decoded.Items[0].Fields["email"] == nil {
			t.Errorf("%s: of its sample comes %+v (%v)", p.Name, decoded, err)
		}
		if len(m.deleteWhen) > 0 {
			t.Errorf("%s: a preset must not delete", p.Name)
		}
		if m.action != nil && !m.listed {
			t.Errorf("%s: without deleteWhen the sender's own words would be refused", p.Name)
		}
	}
}

func TestPresetIsOverridden(t *testing.T) {
	t.Parallel()
	unsubscribe := "type=unsubscribe&data[email]=a@example.com&data[merges][FNAME]=Ada&data[merges][MMERGE7]=pro&data[merges][PHONE]=1"
	m := mustMapping(t, `{"preset":"mailchimp","deleteWhen":["unsubscribe"],
		"fields":{"plan":"data.merges.MMERGE7","phone":null,"name":"data.merges.FNAME"}}`)
	p, err := Decode(asForm, []byte(unsubscribe), m)
	nothing := `"company" at data.merges.COMPANY, data.merges.@answer:company`
	want := []Item{{
		Action: contact.Delete,
		Fields: map[string]any{"email": "a@example.com", "name": "Ada"},
		Extra:  map[string]any{"plan": "pro"}, Missing: []string{nothing}, Warnings: []string{MissingWarning([]string{nothing})}, Match: []contact.Key{{Field: FieldEmail, Value: "a@example.com"}},
	}}
	if err != nil || !reflect.DeepEqual(p.Items, want) {
		t.Errorf("got %+v, %v; want %+v", p.Items, err, want)
	}

	m = mustMapping(t, `{"preset":"mailchimp","items":null,"action":null,"deleteWhen":null}`)
	p, err = Decode(asForm, []byte(unsubscribe), m)
	if err != nil || p.Batch || p.Items[0].Action != contact.Upsert || p.Items[0].Fields["phone"] != "1" {
		t.Errorf("got %+v, %v", p, err)
	}

	// the preset itself is unchanged
	p, err = Decode(asForm, []byte(unsubscribe), mustMapping(t, `{"preset":"mailchimp"}`))
	if err != nil || p.Items[0].Action != contact.Upsert || len(p.Items[0].Extra) > 0 {
		t.Errorf("got %+v, %v", p, err)
	}
}
