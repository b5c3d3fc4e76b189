package list_test

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"contactbase/internal/contact"
	"contactbase/internal/contact/list"
	"contactbase/internal/contact/search"
	"contactbase/internal/fault"
	"contactbase/internal/sqlite"
	"contactbase/internal/testkit"
)

// earlier makes the search rows of a book those of the version before names were folded for the order.
func earlier(b *book) {
	b.TB.Helper()
	for _, statement := range []string{
		"UPDATE _contactSearch SET name = '', text = (SELECT lower(name || char(10) || email || char(10) || company || char(10) || phone) " +
			"FROM contacts WHERE id = contact)",
		"UPDATE _contactFolded SET upTo = 0, last = (SELECT max(seq) FROM _contactSearch)",
	} {
		testkit.Execute(b.TB, b.App, statement, nil)
	}
	b.Lists = &list.Reader{}
}

// refold does what the server does in the background after an upgrade.
func refold(t *testing.T, b *book) {
	t.Helper()
	for _, chunk := range []sqlite.Chunk{contact.Refold, search.IndexPending} {
		if err := sqlite.InChunks(t.Context(), b.App, chunk); err != nil {
			t.Fatal(err)
		}
	}
}

// Apostrophes and hyphens between letters do not matter to a search, whatever kinds people and programs write. A word
// of nothing but such marks finds them. The same holds before the rows of an earlier version are folded again.
func TestSearchIgnoresApostrophesAndHyphens(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	for _, c := range [][2]string{
		{"a", "Pat O’Brien"}, {"b", "Pat O'Brien-Smith"}, {"c", "Pat Oʼbrien"}, {"d", "Jean‑Luc"}, {"e", "Jean-Luc Picard"},
		{"f", "Jean Luc"}, {"g", "Zoe d’Este"}, {"h", "Hans - Peter"}, {"i", "7-Eleven"},
	} {
		b.Add(map[string]any{"externalId": c[0], "name": c[1]})
	}
	b.Add(map[string]any{"externalId": "l", "name": "Plain", "company": "Coca–Cola", "email": "jean-luc@example.com", "phone": "+4930901820"})
	searches := map[string][]string{
		"a b c":   {"obrien", "o'brien", "O’Brien", "O´BRIEN", "o`brien", "Oʼbrien", "o‘brien", "pat o'brien", "O''Brien", "o'brien-"},
		"b":       {"obrien-smith", "o’brien–smith", "obriensmith", "brien-smith"},
		"d e l":   {"jeanluc", "Jean‑Luc", "jean−luc", "JEAN-LUC", "jean—luc", "jean\u00ADluc", "jean-", "-luc", "n-l"},
		"d e f l": {"jean luc"},
		"g":       {"deste", "d'este"},
		"h":       {"- peter", "hans -"},
		"i":       {"7-eleven", "7‑eleven", "-eleven"},
		"l":       {"cocacola", "coca-cola", "jeanluc@example", "030-901820", "030‑901820"},
		"":        {"-pat", "7eleven jean", "hanspeter"},
	}
	b.expectAll(searches)
	b.expectAll(map[string][]string{"a b c g": {"'", "’", "ʼ", "`", "´"}, "b d e h i l": {"-", "‐", "–", "\u00AD"}})
	earlier(b)
	b.expectAll(map[string][]string{
		"a b c": {"obrien", "o'brien", "O’Brien", "o‘brien"}, "d e l": {"jeanluc", "jean‑luc"}, "d e f l": {"jean luc"},
		"l": {"cocacola", "coca-cola", "030-901820"}, "": {"-pat"},
	})
	refold(t, b)
	b.expectAll(searches)
}

// byName returns the external ids of all contacts by name, read in pages.
func (b *book) byName(t *testing.T, sort string) (ids []string) {
	t.Helper()
	values := url.Values{"sort": {sort}, "limit": {"2"}}
	for {
		query, err := list.ParsePage(b.App, values)
		if err != nil {
			t.Fatal(err)
		}
		page, err := b.Lists.Page(b.App, b.Tenant, query)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range page.Contacts {
			ids = append(ids, c.ExternalID)
		}
		if page.Next == nil {
			return ids
		}
		values.Set("cursor", page.Next.String())
	}
}

// Names are in the order in which people look them up: without regard to case, accents, apostrophes and hyphens, then
// by their code points. Those without a name come first.
func TestOrderByName(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	names := []string{"", "Arzt", "arzt", "Ärzte", "Éclair", "jean luc", "Jean-Luc", "Jeanluc", "O'Brien", "obrien", "Zebra", "Łukasz"}
	want := []string{"", "Arzt", "arzt", "Ärzte", "Éclair", "jean luc", "Jean-Luc", "Jeanluc", "Łukasz", "O'Brien", "obrien", "Zebra"}
	slices.Reverse(names)
	var changed string
	for _, name := range names {
		c := b.Add(map[string]any{"externalId": name, "name": "Before", "email": "a@example.com"})
		if changed = c.ID; name == "Zebra" {
			record, err := b.App.FindRecordById("contacts", c.ID)
			if err != nil {
				t.Fatal(err)
			}
			record.Set("name", name)
			if err := b.App.Save(record); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if _, _, err := testkit.Update(b.App, b.Tenant, c.ID, contact.Changes{"name": name}); err != nil {
			t.Fatal(err)
		}
	}
	descending := slices.Clone(want)
	slices.Reverse(descending)
	check := func(when string) {
		t.Helper()
		if got := b.byName(t, "name"); !slices.Equal(got, want) {
			t.Errorf("%s, the order is %q", when, got)
		}
		if got := b.byName(t, "-name"); !slices.Equal(got, descending) {
			t.Errorf("%s, the descending order is %q", when, got)
		}
		for _, query := range []string{"offset=3&limit=3", "offset=3&limit=3&q=example", "offset=3&limit=3&email=a@example.com", "offset=3&limit=3&createdSince=2020-01-01T00:00:00Z"} {
			var got []string
			for _, c := range b.List("sort=name&" + query) {
				got = append(got, c.ExternalID)
			}
			if !slices.Equal(got, want[3:6]) {
				t.Errorf("%s, %s gives %q", when, query, got)
			}
		}
	}
	check("first")
	duplicates := func(want string) {
		t.Helper()
		q, err := list.ParseDuplicatesQuery(url.Values{"by": {"name"}})
		if err != nil {
			t.Fatal(err)
		}
		found, err := list.Duplicates(b.App, b.Tenant, q)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, g := range found.Groups {
			got = append(got, fmt.Sprint(g.Value, " ", g.Count))
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("the duplicates are %q, not %s", got, want)
		}
	}
	duplicates("arzt 2, Jeanluc 2, obrien 2")
	earlier(b)
	duplicates("arzt 2")
	page := b.List("sort=name&limit=2")
	if page[0].ExternalID != "" || !strings.EqualFold(page[1].ExternalID, "arzt") {
		t.Errorf("before the rows are folded, the order begins with %q and %q", page[0].ExternalID, page[1].ExternalID)
	}
	if got := b.byName(t, "name"); len(got) != len(want) {
		t.Errorf("before the rows are folded, there are %d of %d contacts", len(got), len(want))
	}
	refold(t, b)
	check("after the rows are folded")
	query := list.Query{Limit: 2, Sort: "name", Cursor: &list.Cursor{Sort: "name", Value: "Arzt", ID: changed}}
	_, err := b.Lists.Page(b.App, b.Tenant, query)
	var invalid *fault.Error
	if !errors.As(err, &invalid) || invalid.Code != fault.InvalidParameter || !strings.Contains(invalid.Message, "begin again") {
		t.Errorf("a cursor of before gives %v", err)
	}
}
