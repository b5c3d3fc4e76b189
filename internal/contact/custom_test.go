package contact_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/filesystem"

	"contactbase/internal/contact"
	"contactbase/internal/fault"
	"contactbase/internal/testkit"
)

// decode reads JSON as a request's body is read.
func decode(t testing.TB, text string) map[string]any {
	t.Helper()
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var object map[string]any
	if err := decoder.Decode(&object); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return object
}

// property returns the JSON of one property of the contact object, and "absent" where it has none.
func property(t *testing.T, c *contact.Contact, name string) string {
	t.Helper()
	encoded, err := c.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(encoded, &object); err != nil {
		t.Fatalf("%v: %s", err, encoded)
	}
	if value, there := object[name]; there {
		return string(value)
	}
	return "absent"
}

// relatedID and secondID are the records that relations of these tests point to.
const relatedID, secondID = testkit.RelatedID, testkit.SecondRelatedID

// withEveryKind returns a book whose contacts have a field of every kind that an admin can add.
func withEveryKind(t *testing.T) *book {
	t.Helper()
	b := newBook(t)
	testkit.AddEveryKind(t, b.App)
	return b
}

func TestCustomFieldsAreShown(t *testing.T) {
	t.Parallel()
	b := withEveryKind(t)
	empty := b.Add(map[string]any{"name": "Ada"})
	found, err := contact.Find(b.App, b.Tenant, empty.ID)
	if err != nil {
		t.Fatal(err)
	}
	listed := b.List("")[0]
	for what, c := range map[string]*contact.Contact{"created": empty, "found": found, "listed": listed} {
		for _, name := range []string{"note", "bio", "second", "site", "born", "size", "tags", "group", "groups", "photo", "papers", "meta"} {
			if got := property(t, c, name); got != "null" {
				t.Errorf("%s: %s without a value is %s", what, name, got)
			}
		}
		// PocketBase has no empty number, truth or place: a new one is this
		for name, want := range map[string]string{"score": "0", "age": "0", "vip": "false", "place": `{"lon":0,"lat":0}`, "internal": "absent", "pin": "absent"} {
			if got := property(t, c, name); got != want {
				t.Errorf("%s: %s without a value is %s, not %s", what, name, got, want)
			}
		}
		if got := strings.Trim(property(t, c, "seen"), `"`); !stampPattern.MatchString(got) {
			t.Errorf("%s: an automatic date is %s", what, got)
		}
	}
}

func TestCustomFieldsAreWritten(t *testing.T) {
	t.Parallel()
	b := withEveryKind(t)
	c := b.Add(map[string]any{"name": "Ada"})
	for _, tc := range []struct{ field, sent, want string }{
		{"note", `"ten chars!"`, `"ten chars!"`},
		{"bio", `"<p>Hello</p>"`, `"<p>Hello</p>"`},
		{"second", `"ada@example.com"`, `"ada@example.com"`},
		{"site", `"https://example.com/?a=1&b=2"`, `"https://example.com/?a=1&b=2"`},
		{"score", `12.5`, `12.5`},
		{"score", `-3e2`, `-300`},
		{"age", `36`, `36`},
		{"vip", `true`, `true`},
		{"vip", `false`, `false`},
		{"born", `"1815-12-10T00:00:00.000Z"`, `"1815-12-10T00:00:00.000Z"`},
		{"born", `"1815-12-10T01:30:00+01:30"`, `"1815-12-10T00:00:00.000Z"`},
		{"size", `"M"`, `"M"`},
		{"tags", `["a","c"]`, `["a","c"]`},
		{"tags", `[]`, `null`},
		{"tags", `""`, `null`},
		{"score", `""`, `0`},
		{"vip", `""`, `false`},
		{"place", `""`, `{"lon":0,"lat":0}`},
		{"meta", `""`, `null`},
		{"group", `"` + relatedID + `"`, `"` + relatedID + `"`},
		{"groups", `["` + relatedID + `","` + secondID + `"]`, `["` + relatedID + `","` + secondID + `"]`},
		{"meta", `{"a":[1,"2",null,true]}`, `{"a":[1,"2",null,true]}`},
		{"meta", `[1]`, `[1]`},
		{"meta", `"text"`, `"text"`},
		{"meta", `"7"`, `"7"`}, // a string stays one, whatever it looks like
		{"meta", `"true"`, `"true"`},
		{"meta", `"{\"a\":1}"`, `"{\"a\":1}"`},
		{"meta", `7`, `7`},
		{"meta", `-0.0`, `0`},
		{"meta", `1.0`, `1`},
		{"meta", `1e2`, `100`},
		{"meta", `0.10`, `0.1`},
		{"meta", `9007199254740993.0`, `9007199254740993`}, // more than a double holds, as a 64-bit integer does
		{"meta", `1.2345678901234568e+18`, `1234567890123456800`},
		{"meta", `-9223372036854775808`, `-9223372036854775808`},
		{"meta", `9223372036854776000`, `9223372036854776000`}, // a double, and no longer a 64-bit integer
		{"meta", `1e22`, `1e+22`},
		{"meta", `[1.0,1e2,-0,12345678901234567890]`, `[1.0,1e2,-0,12345678901234567890]`},
		{"score", `-0`, `0`},
		{"score", `1.2345678901234568e+18`, `1234567890123456800`},
		{"born", `"2026-01-31T12:00:00.1239999Z"`, `"2026-01-31T12:00:00.123Z"`},
		{"meta", `false`, `false`},
		{"place", `{"lon":-0.1276,"lat":51.5072}`, `{"lon":-0.1276,"lat":51.5072}`},
	} {
		updated, err := b.update(c.ID, decode(t, `{"`+tc.field+`":`+tc.sent+`}`))
		if err != nil {
			t.Errorf("%s %s gives %v", tc.field, tc.sent, err)
			continue
		}
		found, err := contact.Find(b.App, b.Tenant, c.ID)
		if err != nil {
			t.Fatal(err)
		}
		for _, seen := range []*contact.Contact{updated, found, b.List("")[0]} {
			if got := property(t, seen, tc.field); got != tc.want {
				t.Errorf("%s %s is read as %s", tc.field, tc.sent, got)
			}
		}
		if _, err := b.update(c.ID, map[string]any{tc.field: nil}); err != nil {
			t.Errorf("clearing %s gives %v", tc.field, err)
		}
		cleared, err := contact.Find(b.App, b.Tenant, c.ID)
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]string{"score": "0", "age": "0", "vip": "false", "place": `{"lon":0,"lat":0}`}[tc.field]
		if got := property(t, cleared, tc.field); got != want && (want != "" || got != "null") {
			t.Errorf("%s is %s after null", tc.field, got)
		}
	}
	all := b.Add(decode(t, `{"name":"All","note":"n","score":1,"vip":true,"born":"2000-01-01T00:00:00Z","size":"S","tags":["b"],"meta":{"k":1},"group":"`+relatedID+`"}`))
	if found, err := contact.Find(b.App, b.Tenant, all.ID); err != nil || property(t, found, "tags") != `["b"]` || property(t, found, "note") != `"n"` {
		t.Errorf("a contact created with its own fields is %v (%v)", found, err)
	}
}

// What has the wrong JSON type is an error and not coerced; what the admin's rules forbid is an error too.
func TestCustomFieldsAreChecked(t *testing.T) {
	t.Parallel()
	b := withEveryKind(t)
	c := b.Add(map[string]any{"name": "Ada"})
	for _, tc := range []struct{ field, sent, code string }{
		{"note", `1`, fault.CodeInvalidType},
		{"note", `true`, fault.CodeInvalidType},
		{"note", `["a"]`, fault.CodeInvalidType},
		{"note", `{}`, fault.CodeInvalidType},
		{"note", `"eleven char"`, fault.CodeTooLong},
		{"bio", `1`, fault.CodeInvalidType},
		{"second", `"no address"`, fault.CodeInvalidEmail},
		{"second", `1`, fault.CodeInvalidType},
		{"site", `"no address"`, fault.CodeInvalidType},
		{"site", `{}`, fault.CodeInvalidType},
		{"score", `"12"`, fault.CodeInvalidType},
		{"score", `true`, fault.CodeInvalidType},
		{"score", `1e999`, fault.CodeInvalidType},
		{"score", `-1e400`, fault.CodeInvalidType},
		{"score", `1e-400`, fault.CodeInvalidType},
		{"score", `9007199254740993`, fault.CodeInvalidType},
		{"meta", `1e400`, fault.CodeInvalidType},
		{"meta", `{"a":[[{"b":-1e400}]]}`, fault.CodeInvalidType},
		{"meta", `12345678901234567890`, fault.CodeInvalidType},
		{"meta", `0.12345678901234567890`, fault.CodeInvalidType},
		{"score", `[1]`, fault.CodeInvalidType},
		{"age", `1.5`, fault.CodeInvalidType},
		{"age", `200`, fault.CodeInvalidType},
		{"vip", `"true"`, fault.CodeInvalidType},
		{"vip", `1`, fault.CodeInvalidType},
		{"born", `"someday"`, fault.CodeInvalidType},
		{"born", `1`, fault.CodeInvalidType},
		{"born", `true`, fault.CodeInvalidType},
		{"size", `"XL"`, fault.CodeInvalidType},
		{"size", `1`, fault.CodeInvalidType},
		{"size", `["S"]`, fault.CodeInvalidType},
		{"tags", `"a"`, fault.CodeInvalidType},
		{"tags", `["a","z"]`, fault.CodeInvalidType},
		{"tags", `["a","b","c"]`, fault.CodeInvalidType},
		{"tags", `["a",1]`, fault.CodeInvalidType},
		{"tags", `{"a":true}`, fault.CodeInvalidType},
		{"group", `"ccccccccccccccc"`, fault.CodeInvalidType},
		{"group", `1`, fault.CodeInvalidType},
		{"group", `["` + relatedID + `"]`, fault.CodeInvalidType},
		{"groups", `"` + relatedID + `"`, fault.CodeInvalidType},
		{"groups", `["` + relatedID + `","x"]`, fault.CodeInvalidType},
		{"place", `"51,0"`, fault.CodeInvalidType},
		{"place", `[1,2]`, fault.CodeInvalidType},
		{"place", `{"lon":"1","lat":2}`, fault.CodeInvalidType},
		{"place", `{"lon":1}`, fault.CodeInvalidType},
		{"place", `{"lon":0,"lat":91}`, fault.CodeInvalidType},
		{"place", `{"lon":1e400,"lat":0}`, fault.CodeInvalidType},
		{"born", `"0000-01-01T00:00:00+01:00"`, fault.CodeInvalidType},
		{"born", `"9999-12-31T23:59:59-01:00"`, fault.CodeInvalidType},
		{"born", `"0001-01-01T00:00:00.0001Z"`, fault.CodeInvalidType},
		{"internal", `"x"`, fault.CodeUnknownField},
		{"pin", `"12345678"`, fault.CodeUnknownField},
	} {
		_, err := b.update(c.ID, decode(t, `{"`+tc.field+`":`+tc.sent+`}`))
		var faults fault.Fields
		if !errors.As(err, &faults) || faults[tc.field].Code != tc.code {
			t.Errorf("%s %s gives %v, not %s", tc.field, tc.sent, err, tc.code)
		}
	}
	if found, err := contact.Find(b.App, b.Tenant, c.ID); err != nil || found.Updated != c.Updated {
		t.Errorf("a refused change has changed the contact (%v)", err)
	}
}

// What the API cannot write may be sent with the value that it has, so that what was read can be sent back,
// and with no other.
func TestReadOnlyCustomFields(t *testing.T) {
	t.Parallel()
	b := withEveryKind(t)
	c := b.Add(map[string]any{"name": "Ada"})
	record, err := b.App.FindRecordById(contact.CollectionName, c.ID)
	if err != nil {
		t.Fatal(err)
	}
	file, err := filesystem.NewFileFromBytes([]byte("picture"), "ada.txt")
	if err != nil {
		t.Fatal(err)
	}
	record.Set("photo", file)
	if err := b.App.Save(record); err != nil {
		t.Fatal(err)
	}
	read, err := contact.Find(b.App, b.Tenant, c.ID)
	if err != nil {
		t.Fatal(err)
	}
	photo := property(t, read, "photo")
	if !strings.HasPrefix(photo, `"ada`) {
		t.Errorf("a file is shown as %s", photo)
	}
	encoded, err := read.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	sent, err := b.update(c.ID, decode(t, string(encoded)))
	if err != nil {
		t.Fatalf("sending back what was read: %v", err)
	}
	if again, err := sent.MarshalJSON(); err != nil || !bytes.Equal(again, encoded) {
		t.Errorf("sending back %s gives %s (%v)", encoded, again, err)
	}
	for _, tc := range []struct{ field, sent string }{
		{"photo", `"other.txt"`}, {"photo", `null`}, {"photo", `{"a":1}`}, {"photo", `[` + photo + `]`}, {"photo", `1e400`},
		{"papers", `"a.txt"`}, {"papers", `["a.txt"]`}, {"papers", `true`},
		{"seen", `"2000-01-01T00:00:00.000Z"`}, {"seen", `null`}, {"seen", `7`},
		{"pin", `"12345678"`}, {"pin", `null`},
	} {
		_, err := b.update(c.ID, decode(t, `{"name":"Zoe","`+tc.field+`":`+tc.sent+`}`))
		var faults fault.Fields
		if !errors.As(err, &faults) || faults[tc.field].Code == "" || len(faults) != 1 {
			t.Errorf("changing %s to %s gives %v", tc.field, tc.sent, err)
		}
		if tc.sent == `null` && tc.field != "pin" { // which is what a new contact has
			b.Add(decode(t, `{"name":"Zoe","`+tc.field+`":null}`))
		} else if _, err := b.create(decode(t, `{"name":"Zoe","`+tc.field+`":`+tc.sent+`}`)); !errors.As(err, &faults) || faults[tc.field].Code == "" {
			t.Errorf("creating a contact with %s %s gives %v", tc.field, tc.sent, err)
		}
	}
	if after, err := contact.Find(b.App, b.Tenant, c.ID); err != nil || property(t, after, "photo") != photo || property(t, after, "seen") != property(t, read, "seen") || after.Name != "Ada" {
		t.Errorf("what is refused has changed the contact (%v)", err)
	}
}

func TestRequiredCustomField(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	early := b.Add(map[string]any{"name": "Early"})
	testkit.AddFields(t, b.App, &core.TextField{Name: "segment", Required: true})
	var faults fault.Fields
	for what, input := range map[string]map[string]any{
		"none": {"name": "A"}, "null": {"name": "A", "segment": nil}, "empty": {"name": "A", "segment": ""},
	} {
		if _, err := b.create(input); !errors.As(err, &faults) || faults["segment"].Code != fault.CodeRequired {
			t.Errorf("%s gives %v", what, err)
		}
	}
	c := b.Add(map[string]any{"name": "A", "segment": "s"})
	if _, err := b.update(c.ID, map[string]any{"segment": nil}); !errors.As(err, &faults) || faults["segment"].Code != fault.CodeRequired {
		t.Errorf("clearing gives %v", err)
	}
	if _, err := b.update(c.ID, map[string]any{"name": "B"}); err != nil {
		t.Errorf("changing another field gives %v", err)
	}
	if _, err := b.update(early.ID, map[string]any{"segment": "s"}); err != nil {
		t.Errorf("giving a value to a contact from before gives %v", err)
	}
}

// An event tells the change of the admin's own fields too, and a field that is removed later is gone from the object.
func TestCustomFieldsComeAndGo(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	before := b.Add(map[string]any{"name": "Before"})
	testkit.AddFields(t, b.App, &core.TextField{Name: "note"})
	if got := property(t, b.List("")[0], "note"); got != "null" {
		t.Errorf("a contact from before has %s", got)
	}
	if _, err := b.update(before.ID, map[string]any{"note": "now"}); err != nil {
		t.Fatal(err)
	}
	payload := ""
	if err := b.App.DB().NewQuery("SELECT payload FROM events WHERE type = 'contact.updated'").Row(&payload); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(payload, `"note":"now"`) || !strings.Contains(payload, `"previous":{"note":null}`) {
		t.Errorf("the event is %s", payload)
	}
	collection, err := b.App.FindCollectionByNameOrId(contact.CollectionName)
	if err != nil {
		t.Fatal(err)
	}
	collection.Fields.RemoveByName("note")
	if err := b.App.Save(collection); err != nil {
		t.Fatal(err)
	}
	if got := property(t, b.List("")[0], "note"); got != "absent" {
		t.Errorf("a removed field is %s", got)
	}
	var faults fault.Fields
	if _, err := b.update(before.ID, map[string]any{"note": "x"}); !errors.As(err, &faults) || faults["note"].Code != fault.CodeUnknownField {
		t.Errorf("writing a removed field gives %v", err)
	}
}

// named completes the input of a contact.
func named(input map[string]any) map[string]any {
	input["name"] = "Ada"
	return input
}
