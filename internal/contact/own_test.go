package contact_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/testkit"
)

// What the API stores for the admin's fields is what a saved record stores: byte for byte, and of the same type. Generated texts
// and automatic dates are filled, in fields that the API does not show as well.
func TestOwnFieldsAreStoredAsByRecords(t *testing.T) {
	t.Parallel()
	b := withEveryKind(t)
	testkit.AddFields(t, b.App,
		&core.TextField{Name: "code", AutogeneratePattern: "c[0-9]{8}", Required: true},
		&core.TextField{Name: "token", AutogeneratePattern: "t[0-9]{8}", Hidden: true},
		&core.AutodateField{Name: "touched", OnUpdate: true},
		&core.AutodateField{Name: "audited", OnCreate: true, OnUpdate: true, Hidden: true},
	)
	bodies := []string{
		`{}`,
		`{"note":" x ","bio":"<p>Hello</p>","second":"ada@example.com","site":"https://example.com","score":-1.5,"age":36,"vip":true}`,
		`{"born":"1815-12-10T01:30:00+01:30","size":"M","tags":["c","a"],"group":"` + relatedID + `","groups":["` + secondID + `","` + relatedID + `"]}`,
		`{"meta":{"b":[1,"2",null],"a":{}},"place":{"lon":-0.1276,"lat":51.5072},"code":"mine","note":"1e2"}`,
		`{"meta":"text","code":"other","tags":["a","a"],"score":1e22}`,
		`{"meta":[],"tags":[],"groups":[],"note":"","site":"","born":""}`,
		`{"meta":7,"vip":false,"age":0,"score":0,"code":"mine"}`,
		`{"meta":null,"place":null,"tags":null,"group":null,"groups":null,"size":null,"second":null,"bio":null}`,
	}
	ways := map[string]writer{"record": records{b}, "functions": functions{b}}
	for i, first := range bodies {
		for way, w := range ways {
			if err := w.create(withID(t, first, fmt.Sprint(way, i))); err != nil {
				t.Fatalf("%s: creating %s: %v", way, first, err)
			}
		}
		b.expectSame(i, first)
		for _, next := range bodies {
			for way, w := range ways {
				if err := w.update(fmt.Sprint(way, i), next); err != nil {
					t.Fatalf("%s: changing %s to %s: %v", way, first, next, err)
				}
			}
			b.expectSame(i, first+" changed to "+next)
		}
	}
}

// withID returns the body of a contact with an external id.
func withID(t *testing.T, body, externalID string) string {
	t.Helper()
	object := decode(t, body)
	object["name"], object["externalId"] = "Ada", externalID
	encoded, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return string(encoded)
}

// expectSame compares the two rows of a number, but for what is by chance.
func (b *book) expectSame(i int, what string) {
	b.TB.Helper()
	row := func(way string) string {
		row := dbx.NullStringMap{}
		names := []string{"note", "bio", "second", "site", "score", "age", "vip", "born", "size", "tags", "group", "groups", "photo", "papers", "meta", "place",
			"internal", "pin"}
		columns := []string{"substr(code, 1, 1) AS code, code != 'c' AND length(code) AS long", "substr(token, 1, 1) || length(token) AS token",
			"seen != '' AS seen", "length(touched) AS touched", "audited >= created AND length(audited) AS audited", "updated > created AS updated"}
		for _, name := range names {
			columns = append(columns, "typeof(`"+name+"`) || quote(`"+name+"`) AS `"+name+"`")
		}
		err := b.App.DB().NewQuery("SELECT " + strings.Join(columns, ", ") + " FROM contacts WHERE externalId = {:id}").Bind(dbx.Params{"id": fmt.Sprint(way, i)}).One(row)
		if err != nil {
			b.TB.Fatal(err)
		}
		return plain(row)
	}
	if record, functions := row("record"), row("functions"); record != functions {
		b.TB.Errorf("%s is stored as\n%s, and by a record as\n%s", what, functions, record)
	}
}
