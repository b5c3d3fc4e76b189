package testkit_test

import (
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact"
	"contactbase/internal/contact/custom"
	"contactbase/internal/contact/list"
	"contactbase/internal/contact/names"
	"contactbase/internal/contact/search"
	"contactbase/internal/contact/sheet"
	"contactbase/internal/event"
	"contactbase/internal/settings"
	"contactbase/internal/testkit"
	"contactbase/internal/webhook/filter"
	"contactbase/internal/wire"
)

// Reading headings is linear.
func TestHostileNames(t *testing.T) {
	linear(t, map[string]generator{
		"a long word":      repeat("", "x", ""),
		"known words":      repeat("", "email ", ""),
		"a compound":       repeat("", "telefon", ""),
		"compounds":        repeat("", "kundentelefonnummer ", ""),
		"almost compounds": repeat("", "telefonx", ""),
		"capitals":         repeat("", "eMail", ""),
		"numbers":          repeat("", "a1", ""),
		"punctuation":      repeat("", "_-(", ""),
		"questions":        repeat("what is your ", "first name? ", ""),
		"accents":          repeat("", "e\u0301", ""),
		"an accent":        repeat("e", "\u0301", ""),
		"qualifiers":       repeat("", "work home ", "email"),
		"brackets":         repeat("names", "[first_name]", ""),
		"bytes":            repeat("", "\xff", ""),
		"headings":         number("", "email %d\n", ""),
		"equal headings":   repeat("", "name\n", ""),
		"halves":           repeat("", "first name\nlast name\n", ""),
	}, func(_ *testing.T, input []byte) {
		text := string(input)
		headings := strings.Split(text, "\n")
		names.All(headings)
		for _, heading := range headings {
			names.Of(heading)
			names.Known(heading)
			names.IsID(heading)
			names.IsPerson(heading)
			names.IsAside(heading)
			names.IsContact(heading)
			names.IsUniversal(heading)
			names.IsTotal(heading)
			names.Fold(heading)
			names.Whole(heading, [3]string{heading, "", heading})
			names.Join([3]string{heading, heading, heading})
			search.Fold(heading)
			_ = search.FoldEmail(heading)
		}
		search.Text(headings, headings...)
	})
}

// values are cells and values of contacts that could cost more than their share.
var values = map[string]generator{
	"a long text":         repeat("", "x", ""),
	"spaces":              repeat("", " ", ""),
	"words":               repeat("", "a ", ""),
	"digits":              repeat("+49", "1", ""),
	"grouped digits":      repeat("+49", " 1", ""),
	"plus signs":          repeat("", "+", ""),
	"numbers":             repeat("", "+49301 / ", ""),
	"numbers and labels":  repeat("", "Mobile: +4930123456; ", ""),
	"labels":              repeat("", "tel:", "+4930123456"),
	"brackets":            repeat("+49", "(0)", ""),
	"extensions":          repeat("+4930123456", " ext. 1", ""),
	"addresses":           repeat("", "a@b.example;", ""),
	"wrong addresses":     repeat("", "a@b@;", ""),
	"addresses in lines":  repeat("", "a@b\n", ""),
	"slashes and bars":    repeat("", "a/b|c,", ""),
	"all separators":      repeat("", "a ::: b\n;,|/ ", ""),
	"marked addresses":    repeat("", "<", "ada@example.com>"),
	"quoted addresses":    repeat(`"`, `\"`, `" <ada@example.com>`),
	"comments":            repeat("", "(", "ada@example.com"),
	"dots":                repeat("a@", "b.", "c"),
	"invisible letters":   repeat("a@b.example", "\u200b", ""),
	"mail links":          repeat("", "mailto:", "ada@example.com"),
	"apostrophes":         repeat("", "'", "a"),
	"formulas":            repeat("", `="`, `"`),
	"JSON":                repeat(`["a"`, `,"a"`, "]"),
	"open JSON":           repeat(`["a"`, `,["a"`, ""),
	"nested JSON":         repeat("", `[`, ""),
	"objects":             repeat(`{"a":1`, `,"a":1`, "}"),
	"accents":             repeat("", "e\u0301", ""),
	"an accent":           repeat("e", "\u0301", ""),
	"accents in disorder": repeat("a", "\u0323\u0301\u0316", ""),
	"Hangul":              repeat("", "\u1100\u1161\u11a8", ""),
	"bytes":               repeat("", "\xff", ""),
	"line breaks":         repeat("", "a\r\n\t", ""),
	"a number":            repeat("1", "0", "e-2%"),
	"an exponent":         repeat("1e", "9", ""),
	"small letters":       repeat("", "ß", ""),
	"choices":             repeat("", "a,b,", ""),
	"choices in JSON":     repeat("[", `"a",`, `"b"]`),
	"mailboxes":           repeat("", `"x, y" <a@b>, c@d `, ""),
	"open quotes":         repeat("", `"<a@b>`, ""),
	"placeholders":        repeat("", "{{a}} ", ""),
	"escapes of HTML":     repeat("", "&amp;&#39;&x", ""),
	"thousands":           repeat("1", ",000", ".5"),
	"words of a date":     repeat("31 ", "de ", "enero 1985 10:00"),
}

// Reading the values of a row and of a contact is linear.
func TestHostileValues(t *testing.T) {
	app := testkit.NewApp(t)
	testkit.AddFields(t, app, &core.TextField{Name: "note", Pattern: "^(a+)+$"}, &core.NumberField{Name: "score"},
		&core.JSONField{Name: "extra"}, &core.SelectField{Name: "tags", Values: []string{"a", "b"}, MaxSelect: 2},
		&core.DateField{Name: "born"}, &core.URLField{Name: "site"}, &core.BoolField{Name: "vip"},
		&core.EditorField{Name: "text"}, &core.GeoPointField{Name: "place"}, &core.EmailField{Name: "second"})
	columns, err := sheet.Targets(app)
	if err != nil {
		t.Fatal(err)
	}
	parser, err := sheet.Choices{Mapping: columns, Country: "DE"}.Parser(app, columns, nil)
	if err != nil {
		t.Fatal(err)
	}
	linear(t, values, func(t *testing.T, input []byte) {
		text, cells, sent := string(input), make([]string, len(columns)), map[string]any{}
		for i, column := range columns {
			cells[i], sent[column] = text, text
		}
		if _, _, err := parser.Item(cells); err != nil {
			t.Error(err)
		}
		if _, _, err := contact.CustomInput(app, sent, custom.StyleOf("DE")); err != nil {
			t.Error(err)
		}
		if _, _, err := contact.CustomNames(app, maps.Keys(sent)); err != nil {
			t.Error(err)
		}
		contact.ReadEmail(text)
		contact.ReadPhone(text, "DE")
		contact.ReadPhone(text, text)
		contact.CountryIn(text)
		custom.Seen(text)
		_ = contact.IsCountry(text)
		if _, err := sheet.Suggest(app, []string{"name", "x"}, [][]string{{text, text}}); err != nil {
			t.Error(err)
		}
	})
}

// Reading the parameters of a request is linear.
func TestHostileQueries(t *testing.T) {
	app := testkit.NewApp(t)
	linear(t, map[string]generator{
		"words":              repeat("q=", "abc+", ""),
		"short words":        repeat("q=", "a+", ""),
		"different words":    number("q=", "abc%d+", ""),
		"a long word":        repeat("q=", "a", ""),
		"digits":             repeat("q=", "1+", ""),
		"escapes":            repeat("q=", "%25", ""),
		"quotation marks":    repeat("q=", "%22a%22+", ""),
		"accents":            repeat("q=", "e%CC%81", ""),
		"equal parameters":   repeat("", "q=a&", ""),
		"unknown parameters": number("", "x%d=a&", ""),
		"blank parameters":   repeat("", "&", ""),
		"a cursor":           repeat("cursor=", "eyJz", ""),
		"a filter":           repeat("email=", "a", ""),
		"times":              repeat("createdAfter=", "2026-01-01T00:00:00", ""),
		"types":              repeat("types=", "contact.created,", ""),
		"a sort":             repeat("sort=", "-name,", ""),
		"a limit":            repeat("limit=", "9", ""),
	}, func(_ *testing.T, input []byte) {
		query, err := url.ParseQuery(string(input))
		if err != nil {
			return
		}
		if q, err := list.ParsePage(app, query); err == nil {
			search.Condition(q.Words, false, map[string]any{})
		}
		_, _ = list.ParseFilters(app, query)
		_, _ = list.ParseDuplicatesQuery(query)
		_, _ = event.ParseQuery(app, query)
		_, _ = list.ParseCursor(query.Get("cursor"))
		_, _ = event.ParseCursor(query.Get("cursor"))
		_, _ = wire.Integer(query.Get("limit"), 1)
	})
}

// The evaluation of a filter is linear in the event, and that of its text is bounded by its length.
func TestHostileFilters(t *testing.T) {
	var filters []*filter.Filter
	for _, text := range []string{
		`any(data.tags, # == "b")`, `all(data.tags, any(data.tags, # == "b"))`, `lower(string(data.name)) contains "b"`,
		`data.name matches "(a+)+b$"`, `len(filter(data.tags, # != "b")) > 0`, `data.name startsWith data.name`,
		`data.name in data.tags`, `count(data.tags, # == "a") == sum(map(data.tags, len(#)))`,
		`sort(data.tags) == data.tags`, `join(data.tags, data.name) == ""`,
	} {
		if compiled, err := filter.Compile(text); err == nil {
			filters = append(filters, compiled)
		}
	}
	linear(t, map[string]generator{
		"a long text": repeat(`{"type":"contact.created","data":{"name":"`, "a", `"}}`),
		"tags":        repeat(`{"type":"contact.created","data":{"tags":["a"`, `,"a"`, "]}}"),
		"tags and text": func(n int) []byte {
			return []byte(`{"data":{"name":"` + strings.Repeat("a", n) + `","tags":["a"` + strings.Repeat(`,"a"`, n) + `]}}`)
		},
		"properties": number(`{"type":"contact.created","data":{"name":"a"`, `,"x%d":1`, "}}"),
		"nesting":    repeat(`{"data":{"tags":`, "[", ""),
	}, func(_ *testing.T, input []byte) {
		parsed, err := filter.Parse(input)
		if err != nil {
			return
		}
		for _, compiled := range filters {
			_, _ = compiled.Match(parsed)
		}
	})
	linear(t, map[string]generator{
		"comparisons": repeat(`type == "a"`, ` || type == "a"`, ""),
		"brackets":    repeat("", "(", "true"),
		"negations":   repeat("", "not ", "true"),
		"conditions":  repeat("", "true ? true : ", "true"),
		"lists":       repeat("type in [", `"a",`, `"a"]`),
		"loops":       repeat("", "any(data.tags, ", "true"),
		"properties":  repeat("data", ".a", " == nil"),
		"a text":      repeat(`type == "`, "a", `"`),
	}, func(_ *testing.T, input []byte) {
		text := string(input[:min(len(input), filter.MaxLength)])
		_, _ = filter.Compile(text)
		filter.Names(text)
	})
}

// Reading the file of settings is linear.
func TestHostileSettings(t *testing.T) {
	path := filepath.Join(t.TempDir(), "settings")
	linear(t, map[string]generator{
		"lines":       number("", "a%d: 1\n", ""),
		"equal lines": repeat("", "maxKeys: 1\n", ""),
		"a long line": repeat("maxKeys: ", "1", "\n"),
		"comments":    repeat("", "# a\n", ""),
		"blank lines": repeat("", "\n", ""),
		"bytes":       repeat("", "\xff\x00", "\n"),
		"anchors":     number("a: &a1 x\n", "b%d: &b [*a1, *a1]\n", ""),
		"nesting":     repeat("a: ", "[", ""),
		"documents":   repeat("", "---\n", ""),
	}, func(t *testing.T, input []byte) {
		if err := os.WriteFile(path, input, 0o600); err != nil {
			t.Fatal(err)
		}
		_, _ = settings.Read([]string{"--config", path}, strings.Split(string(input), "\n"))
	})
}
