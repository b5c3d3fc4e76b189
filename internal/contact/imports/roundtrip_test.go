package imports_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact"
	"contactbase/internal/contact/imports"
	"contactbase/internal/contact/list"
	"contactbase/internal/contact/sheet"
	"contactbase/internal/testkit"
)

// addAllFields adds a field of each type that the API writes, and returns ids of rows that relations may lead to.
func addAllFields(t *testing.T, app core.App, tenantID string) (linked []string) {
	t.Helper()
	contacts, err := app.FindCollectionByNameOrId("contacts")
	if err != nil {
		t.Fatal(err)
	}
	choices := []string{"a", "b,c", " spaced ", `["a"]`, "=1", "'x"}
	testkit.AddFields(t, app,
		&core.TextField{Name: "text"}, &core.EditorField{Name: "editor"}, &core.NumberField{Name: "number"}, &core.BoolField{Name: "bool"},
		&core.EmailField{Name: "second"}, &core.URLField{Name: "url"}, &core.DateField{Name: "date"}, &core.JSONField{Name: "json"}, &core.GeoPointField{Name: "place"},
		&core.SelectField{Name: "one", Values: choices, MaxSelect: 1}, &core.SelectField{Name: "several", Values: choices, MaxSelect: 5},
		&core.RelationField{Name: "friend", CollectionId: contacts.Id, MaxSelect: 1}, &core.RelationField{Name: "friends", CollectionId: contacts.Id, MaxSelect: 9},
	)
	for n := range 5 {
		linked = append(linked, testkit.Record(t, app, "contacts", map[string]any{"tenant": tenantID, "name": fmt.Sprint("Friend ", n), "externalId": fmt.Sprint("friend", n)}).Id)
	}
	return linked
}

// anyText returns a text that spreadsheets, CSV and JSON each have their trouble with.
func (p pools) anyText() string {
	parts := []string{"'", "=", "+", "-", "@", " ", "\t", "\n", "\r\n", "\r", `"`, ",", ";", "a", "ß", "🙂", "\u2028", "null", "1e3", "[", "]", "{}", "<b>", "\\"}
	var text string
	for range 1 + p.IntN(5) {
		text += p.any(parts...)
	}
	return text
}

func (p pools) json(depth int) any {
	switch p.IntN(7 - min(depth, 2)) {
	case 0:
		return p.anyText()
	case 1:
		numbers := []string{"0", "1", "-1.50", "1e2", "1234567890123456789", "0.1"}
		if depth > 0 { // where a number keeps its spelling
			numbers = append(numbers, "12345678901234567890")
		}
		return json.Number(p.any(numbers...))
	case 2:
		return p.IntN(2) == 0
	case 3:
		return p.any("true", "1", "{}", "null", `"quoted"`)
	case 4:
		return []any{p.anyText(), json.Number("1.0"), nil}
	case 5:
		return map[string]any{"b": p.json(depth + 1), p.anyText(): p.json(depth + 1), "a": nil}
	default:
		return []any{}
	}
}

// subset returns some of the values, in any order.
func (p pools) subset(values []string) []any {
	chosen := []any{}
	for _, i := range p.Perm(len(values))[:p.IntN(len(values))] {
		chosen = append(chosen, values[i])
	}
	return chosen
}

// everything returns what a caller of the API may send for a contact.
func (p pools) everything(n int, linked []string) map[string]any {
	choices := []string{"a", "b,c", " spaced ", `["a"]`, "=1", "'x"}
	input := map[string]any{"name": p.any("=Ada", "'Grace", "'=Hedy", "-", "@", "Zoë O'Neill"), "externalId": fmt.Sprint(p.any("", "'", "=", "''+"), n)}
	for name, value := range map[string]func() any{
		"email": func() any { return fmt.Sprint("person", n, "@example.com") }, "phone": func() any { return "+4930123456" }, "company": func() any { return p.any("+Acme", "a,b;c") },
		"text": func() any { return p.anyText() }, "editor": func() any { return "<p> " + p.anyText() + " </p>\r\n " },
		"number": func() any { return json.Number(p.any("0", "-1.5", "1e21", "0.1", "123456789012", "1e-9")) }, "bool": func() any { return p.IntN(2) == 0 },
		"second": func() any { return "second@example.com" }, "url": func() any { return "https://example.com/?a=1&b=,;'" },
		"date": func() any { return p.any("2026-01-31T12:00:00.123Z", "2026-01-31") }, "json": func() any { return p.json(0) },
		"place": func() any { return map[string]any{"lon": json.Number("13.4"), "lat": json.Number("-52.5")} },
		"one":   func() any { return p.any(choices...) }, "several": func() any { return p.subset(choices) },
		"friend": func() any { return p.any(linked...) }, "friends": func() any { return p.subset(linked) },
	} {
		if p.IntN(4) > 0 {
			input[name] = value()
		}
	}
	if several, ok := input["several"].([]any); ok && len(several) > 5 {
		input["several"] = several[:5]
	}
	return input
}

func everyContact(t *testing.T) list.Query {
	t.Helper()
	query, err := list.ParsePage(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return query
}

// exported returns what an export of the tenant writes.
func exported(t *testing.T, app core.App, tenantID string, format sheet.Format) string {
	t.Helper()
	var b strings.Builder
	if _, err := sheet.Export(t.Context(), app, &list.Reader{}, tenantID, everyContact(t), format, &b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// byExternalID returns the contacts of a tenant as the API shows them, without ids, times and the fields
// that are left out.
func byExternalID(t *testing.T, app core.App, tenantID string, without ...string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := new(list.Reader).Each(t.Context(), app, tenantID, everyContact(t), func(c *contact.Contact) error {
		shown := *c
		shown.ID, shown.Created, shown.Updated = "", "", ""
		shown.Custom = slices.DeleteFunc(slices.Clone(c.Custom), func(v contact.CustomValue) bool { return slices.Contains(without, v.Name) })
		encoded, err := shown.AppendJSON(nil)
		found[c.ExternalID] = string(encoded)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// What an export writes, an import reads back to equal contacts, with fields of all types.
func TestExportImportsAgain(t *testing.T) {
	t.Parallel()
	for name, format := range map[string]sheet.Format{"CSV": sheet.CSV, "workbook": sheet.Workbook} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			exportImportsAgain(t, format)
		})
	}
}

func exportImportsAgain(t *testing.T, format sheet.Format) {
	t.Helper()
	seed := rand.Uint64()
	p := pools{rand.New(rand.NewPCG(seed, 0))}
	app := testkit.NewApp(t)
	acme, other := testkit.Tenant(t, app, "Acme"), testkit.Tenant(t, app, "Other")
	linked := addAllFields(t, app, acme)
	var ids []string
	for n := range 150 {
		changes, err := contact.ParseChanges(app, p.everything(n, linked))
		if err != nil {
			t.Fatal(err)
		}
		c, err := testkit.Create(app, acme, changes)
		if err != nil {
			t.Fatalf("%v: %v", changes, err)
		}
		ids = append(ids, c.ID)
	}
	const all = 155
	text, want := exported(t, app, acme, format), byExternalID(t, app, acme)
	run := func(tenantID, match string, relations bool) imports.Counts {
		t.Helper()
		stored := store(t, app, tenantID, text)
		mapping := slices.Clone(stored.Mapping)
		if ignored := strings.Join(stored.Ignored, ","); ignored != "createdAt,updatedAt" {
			t.Errorf("the columns %s are ignored", ignored)
		}
		for i, target := range mapping {
			if !relations && strings.HasPrefix(target, "friend") {
				mapping[i] = ""
			}
		}
		if err := start(app, stored.ID, mapping, match); err != nil {
			t.Fatal(err)
		}
		done := work(t, app, stored.ID)
		for _, refusal := range done.Refusals {
			t.Errorf("seed %d: by %s a row is refused: %+v", seed, match, refusal)
		}
		return done.Counts
	}
	equal := func(what string, want, got map[string]string) {
		t.Helper()
		for id, c := range want {
			if got[id] != c {
				t.Errorf("seed %d, %s:\n%s\ncomes back as\n%s", seed, what, c, got[id])
			}
		}
		if len(got) != len(want) {
			t.Errorf("seed %d, %s: %d contacts instead of %d", seed, what, len(got), len(want))
		}
	}
	for _, match := range []string{"id", "externalId"} {
		if got := run(acme, match, true); got != (imports.Counts{RowsUnchanged: all}) {
			t.Errorf("seed %d: back by %s: %+v", seed, match, got)
		}
	}
	if got := run(other, "id", false); got != (imports.Counts{RowsCreated: all}) {
		t.Errorf("seed %d: into another tenant: %+v", seed, got)
	}
	equal("another tenant", byExternalID(t, app, acme, "friend", "friends"), byExternalID(t, app, other, "friend", "friends"))
	if got := run(other, "externalId", false); got != (imports.Counts{RowsUnchanged: all}) {
		t.Errorf("seed %d: into another tenant again: %+v", seed, got)
	}
	for _, match := range []string{"id", "externalId"} {
		for _, id := range ids { // whose other fields stay, because an empty cell changes nothing
			changes, err := contact.ParseChanges(app, map[string]any{"name": "Changed", "friend": nil, "friends": nil, "json": nil, "place": nil, "text": nil, "several": nil})
			if err != nil {
				t.Fatal(err)
			}
			if _, _, err := testkit.Update(app, acme, id, changes); err != nil {
				t.Fatal(err)
			}
		}
		if got := run(acme, match, true); got != (imports.Counts{RowsUpdated: 150, RowsUnchanged: 5}) {
			t.Errorf("seed %d: after a change by %s: %+v", seed, match, got)
		}
		equal("the same tenant", want, byExternalID(t, app, acme))
	}
}

// Contacts without an external id come back by their ids, and are created where the tenant has no such id.
func TestExportWithoutExternalIDs(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	acme, other := testkit.Tenant(t, app, "Acme"), testkit.Tenant(t, app, "Other")
	for range 3 {
		testkit.Record(t, app, "contacts", map[string]any{"tenant": acme, "name": "Ada", "email": "ada@example.com"})
	}
	testkit.Record(t, app, "contacts", map[string]any{"tenant": acme, "name": "Phone"})
	for _, format := range sheet.Formats {
		text := exported(t, app, acme, format)
		for _, c := range []struct {
			tenant string
			want   imports.Counts
		}{{acme, imports.Counts{RowsUnchanged: 4}}, {other, imports.Counts{RowsCreated: 4}}} {
			stored := store(t, app, c.tenant, text)
			begin(t, app, stored, "", start)
			if got := work(t, app, stored.ID); got.Counts != c.want {
				t.Errorf("%q: got %+v, not %+v", format, got.Counts, c.want)
			}
		}
	}
}

// What an export writes as vCards, an import reads back to equal contacts.
func TestCardsImportAgain(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	acme, other := testkit.Tenant(t, app, "Acme"), testkit.Tenant(t, app, "Other")
	seed := rand.Uint64()
	p := pools{rand.New(rand.NewPCG(seed, 0))}
	text := func() string {
		return strings.Join(strings.Fields(p.anyText()+p.any(";", `\`, ":", `\;`, `\n`, "=0A")+p.anyText()), " ")
	}
	const all = 200
	for n := range all {
		email := fmt.Sprint(p.any("a", "b"), n, "@example.com")
		changes, err := contact.ParseChanges(app, map[string]any{
			"name": p.any(text(), email, ""), "email": email, "phone": p.any("", "+4930123456"), "company": p.any(text(), ""), "externalId": fmt.Sprint(text(), n),
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := testkit.Create(app, acme, changes); err != nil {
			t.Fatal(err)
		}
	}
	cards := exported(t, app, acme, sheet.VCard)
	for _, c := range []struct {
		tenant string
		want   imports.Counts
	}{{acme, imports.Counts{RowsUnchanged: all}}, {other, imports.Counts{RowsCreated: all}}} {
		stored := store(t, app, c.tenant, cards)
		begin(t, app, stored, "", start)
		if got := work(t, app, stored.ID); got.Counts != c.want {
			t.Errorf("seed %d: got %+v, not %+v", seed, got, c.want)
		}
	}
	back := byExternalID(t, app, other)
	for id, want := range byExternalID(t, app, acme) {
		if back[id] != want {
			t.Errorf("seed %d: %s comes back as %s", seed, want, back[id])
		}
	}
}

// A large sheet of short rows takes a small multiple of its size.
func TestShortRowsTakeLittle(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	acme := testkit.Tenant(t, app, "Acme")
	columns := make([]string, 200)
	for i := range columns {
		columns[i] = fmt.Sprint("c", i)
	}
	columns[0], columns[1] = "name", "email"
	for what, row := range map[string]string{"short": "a\n", "wide": ",a" + strings.Repeat(",", 198) + "\n", "escaped": strings.Repeat("\\<&>", 20) + "\n"} {
		text := strings.Join(columns, ",") + "\n" + strings.Repeat(row, 20_000)
		stored := store(t, app, acme, text)
		bytes := testkit.Count(t, app, "SELECT sum(length(rows)) FROM _importRows WHERE import = {:id}", map[string]any{"id": stored.ID})
		if bytes > 4*len(text) {
			t.Errorf("%s: of %d bytes %d are stored", what, len(text), bytes)
		}
	}
}
