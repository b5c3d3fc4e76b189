package contact_test

import (
	"reflect"
	"testing"

	"github.com/pocketbase/dbx"

	"contactbase/internal/contact"
)

// What stands between the columns that are read as one may stand in a value, too, which nothing but SQL writes.
func TestReadsValueWithSeparator(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	want := *b.Add(map[string]any{"name": "Ada", "email": "ada@example.com", "company": "Engines"})
	want.Name = "Ada\x1fLovelace\x1f"
	if _, err := b.App.NonconcurrentDB().Update(contact.CollectionName, dbx.Params{"name": want.Name}, nil).Execute(); err != nil {
		t.Fatal(err)
	}
	found, err := contact.Find(b.App, b.Tenant, want.ID)
	if err != nil || !reflect.DeepEqual(found, &want) {
		t.Errorf("%+v is read, not %+v (%v)", found, want, err)
	}
	if listed := b.List("email=ada@example.com"); len(listed) != 1 || !reflect.DeepEqual(listed[0], &want) {
		t.Errorf("%+v are listed, not %+v", listed, want)
	}
}

// A plus sign that is not encoded in a URL arrives as a space, which no email address has.
func TestFilterByEmailWithPlusSign(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	want := b.Add(map[string]any{"email": "ada+news@example.com"})
	b.Add(map[string]any{"email": "ada@example.com"})
	for _, query := range []string{"email=ada+news@example.com", "email=ada%2Bnews@example.com", "email=ADA+News%40example.com"} {
		if listed := b.List(query); len(listed) != 1 || !reflect.DeepEqual(listed[0], want) {
			t.Errorf("%s lists %+v", query, listed)
		}
	}
}
