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

// The API stores the same values for the admin's fields as a saved record does: byte for byte, and of the same type.
// It generates texts once, and renews automatic dates with each change, also in fields that it does not show.
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
		b.expectSame(i, first, nil)
		for _, next := range bodies {
			former := map[string]dbx.NullStringMap{}
			for way, w := range ways {
				externalID := fmt.Sprint(way, i)
				former[way] = b.age(externalID)
				if err := w.update(externalID, next); err != nil {
					t.Fatalf("%s: changing %s to %s: %v", way, first, next, err)
				}
			}
			b.expectSame(i, first+" changed to "+next, former)
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

// longAgo is a time before the test.
const longAgo = "2000-01-01 00:00:00.000Z"

// age sets the automatic dates of a contact that changes renew back to longAgo, and returns its row.
func (b *book) age(externalID string) dbx.NullStringMap {
	b.TB.Helper()
	testkit.Execute(b.TB, b.App, "UPDATE contacts SET touched = {:longAgo}, audited = {:longAgo} WHERE externalId = {:id}",
		dbx.Params{"longAgo": longAgo, "id": externalID})
	return b.row("*", externalID)
}

func (b *book) row(columns, externalID string) dbx.NullStringMap {
	b.TB.Helper()
	row := dbx.NullStringMap{}
	err := b.App.DB().NewQuery("SELECT " + columns + " FROM contacts WHERE externalId = {:id}").Bind(dbx.Params{"id": externalID}).One(row)
	if err != nil {
		b.TB.Fatal(err)
	}
	return row
}

// expectSame compares the two contacts of a number, and what has become of their former rows, except
// for what is random.
func (b *book) expectSame(i int, what string, former map[string]dbx.NullStringMap) {
	b.TB.Helper()
	columns := []string{"substr(code, 1, 1) AS begins", "length(code) AS long", "substr(token, 1, 1) || length(token) AS tokenLike",
		"seen != '' AS isSeen", "length(touched) AS touchedLong", "length(audited) AS auditedLong"}
	for _, name := range []string{"note", "bio", "second", "site", "score", "age", "vip", "born", "size", "tags", "group", "groups", "photo", "papers", "meta",
		"place", "internal", "pin"} {
		columns = append(columns, "typeof(`"+name+"`) || quote(`"+name+"`) AS `"+name+"`")
	}
	look := func(way string) string {
		externalID := fmt.Sprint(way, i)
		now, before := b.row("*", externalID), former[way]
		isWritten := before["updated"] != now["updated"]
		return fmt.Sprint(plain(b.row(strings.Join(columns, ", "), externalID)),
			" code kept: ", before["code"] == now["code"], ", token kept: ", before["token"] == now["token"],
			", touched: ", !isWritten || now["touched"].String != longAgo, ", audited: ", !isWritten || now["audited"].String != longAgo)
	}
	if record, functions := look("record"), look("functions"); record != functions {
		b.TB.Errorf("%s is stored as\n%s, and by a record as\n%s", what, functions, record)
	}
}
