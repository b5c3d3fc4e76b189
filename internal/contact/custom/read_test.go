package custom_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact/custom"
)

var (
	number   = &core.NumberField{Name: "score"}
	born     = &core.DateField{Name: "born"}
	vip      = &core.BoolField{Name: "vip"}
	note     = &core.TextField{Name: "note"}
	site     = &core.URLField{Name: "site"}
	extra    = &core.JSONField{Name: "extra"}
	place    = &core.GeoPointField{Name: "place"}
	tier     = &core.SelectField{Name: "tier", Values: []string{"Gold", "Silver", "Café", "-"}, MaxSelect: 1}
	tags     = &core.SelectField{Name: "tags", Values: []string{"vip", "early", "Sales, EMEA", "a|b"}, MaxSelect: 4}
	relation = &core.RelationField{Name: "friends", MaxSelect: 3}
)

const unread = "does not fit"

func shown(read custom.Reading) string {
	encoded, _ := json.Marshal(read.Value)
	switch {
	case read.Wrong != nil && read.Value == nil:
		return unread
	case read.Wrong != nil:
		return fmt.Sprintf("%s without %s", encoded, read.Left)
	}
	return string(encoded)
}

// Texts are read as people and other programs write them.
func TestRead(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		field core.Field
		texts map[string]string
	}{
		{number, map[string]string{
			"1,234.50": "1234.50", "1.234,50": "1234.50", "1 234,50": "1234.50", "1\u202f234,5": "1234.5", "1'234.50": "1234.50",
			"€ 99": "99", "99 €": "99", "99,90 EUR": "99.90", "$1,234": unread, "12%": "12", "12 %": "12", "12.5 %": "12.5",
			"-5": "-5", "5-": "-5", "(1,234.50)": "-1234.50", "-€ 99": "-99", "€ -99": "-99", "\u22125": "-5", "+7": "7",
			"1e2": "1e2", ".5": "0.5", ",5": "0.5", "0,125": "0.125", "0.125": "0.125", "1234.567": "1234.567", "1.234": "1.234",
			"1.234.567": "1234567", "1,234,567": "1234567", "1,23,456.50": "123456.50", "007": "7", "12,5": "12.5",
			"1,234": unread, "1.2.3": unread, "12,34,5": unread, "abc": unread, "12 apples": unread, "1 2": unread, "5.": unread,
			"1.234.56": unread, "N/A": "null", "-": "null", "{{score}}": "null", "#N/A": "null", " ": "null", "€": unread, "0": "0",
		}},
		{born, map[string]string{
			"31.01.1985": day, "31/01/1985": day, "01/31/1985": day, "1985-01-31": day, "1985/01/31": day, "19850131": day,
			"31-01-1985": day, "31. 1. 1985": day, "1/31/1985": day, "Jan 31, 1985": day, "31 Jan 1985": day, "31-Jan-1985": day,
			"January 31st, 1985": day, "31. Januar 1985": day, "31 janv. 1985": day, "31 de enero de 1985": day,
			"Thursday, 31 January 1985": day, "31078": day, "31078.5": noon, "1985-01-31 12:00": noon, "31.01.1985 12:00": noon,
			"1985-01-31T12:00:00Z": noon, "1985-01-31T13:00:00+01:00": noon, "1985-01-31T00:00:00+13:00": day, "Thu Jan 31 1985 00:00:00 GMT+0100 (CET)": day, "01/31/1985 12:00 PM": noon,
			"Jan 31, 1985 at 12:00": noon, "31/01/1985, 12:00:00": noon, "Thu Jan 31 1985 13:00:00 GMT+0100 (CET)": noon,
			"Thu, 31 Jan 1985 12:00:00 GMT": noon, "1985-01-31 12:00:00.000Z": noon, "1985-01-31 12:00:00 UTC": noon,
			"05/05/1985": `"1985-05-05T00:00:00.000Z"`, "03/04/1985": unread, "31.02.1985": unread, "1985": unread, "31.01.85": unread,
			"13/13/1985": unread, "1985-13-01": unread, "tomorrow": unread, "12:00": unread, "1985-01-31 25:00": unread,
			"1985-01-31 12:00+99:99": unread, "1985-01-31 0:30 PM": unread, "1985-01-31T1:00:00.5-11:00": `"1985-01-31T12:00:00.500Z"`,
			"1985.01-31": unread, "n/a": "null", "0000-00-00": unread, "01234": unread, "Jan 1985": unread,
		}},
		{vip, map[string]string{
			"Yes": "true", "TRUE": "true", "x": "true", "X": "true", "1": "true", "on": "true", "✓": "true", "checked": "true",
			"ja": "true", "Oui": "true", "sí": "true", "sì": "true", "sim": "true", "Wahr": "true", "vrai": "true", "y": "true",
			"no": "false", "FALSE": "false", "off": "false", "0": "false", "nein": "false", "non": "false", "não": "false",
			"nee": "false", "2": unread, "maybe": unread, "": "null", "undefined": "null",
		}},
		{tier, map[string]string{
			"gold": `"Gold"`, "GOLD": `"Gold"`, " silver ": `"Silver"`, "cafe": `"Café"`, `["gold"]`: `"Gold"`, "-": `"-"`,
			"--": "null", "Bronze": unread, "Gold, Silver": unread,
		}},
		{tags, map[string]string{
			"vip, early": `["vip","early"]`, "vip;early": `["vip","early"]`, "vip|early": `["vip","early"]`, "VIP": `["vip"]`,
			`["vip"]`: `["vip"]`, `["VIP","early"]`: `["vip","early"]`, "sales, emea": `["Sales, EMEA"]`, "a|b;vip": `["a|b","vip"]`,
			"vip; sales, emea": `["vip","Sales, EMEA"]`, "vip,vip": `["vip"]`, "vip, late": `["vip"] without late`, "late": unread,
			"vip,": `["vip"]`, "none": "null", "vip, early|late": `["vip","early"] without late`,
		}},
		{site, map[string]string{
			"example.com": `"https://example.com"`, "www.example.org/a?b": `"https://www.example.org/a?b"`,
			"http://example.net": `"http://example.net"`, "example": `"example"`, "a@example.com": `"a@example.com"`, "-": "null",
		}},
		{note, map[string]string{"N/A": `"N/A"`, "{{x}}": `"{{x}}"`, "01.02.1985": `"01.02.1985"`}},
		{extra, map[string]string{`{"a":1}`: `{"a":1}`, "null": "null", "x": `"x"`, "-": `"-"`}},
		{place, map[string]string{`{"lon":1,"lat":2}`: `{"lat":2,"lon":1}`, "undefined": "null", "52.5, 13.4": unread, `{"lon":"1"}`: unread}},
		{relation, map[string]string{"abc": `["abc"]`, `["a","b"]`: `["a","b"]`}},
		{note, map[string]string{"\ta ": `"\ta "`}},
	} {
		for text, want := range c.texts {
			if got := shown(custom.Read(c.field, text, 0)); got != want {
				t.Errorf("%s: %q is %s, want %s", c.field.GetName(), text, got, want)
			}
		}
	}
}

const (
	day  = `"1985-01-31T00:00:00.000Z"`
	noon = `"1985-01-31T12:00:00.000Z"`
)

// A column decides what its values leave open, and then the country. What an export has written is what it says.
func TestStyles(t *testing.T) {
	t.Parallel()
	column := func(texts ...string) (style custom.Style) {
		for _, text := range texts {
			style |= custom.Seen(text)
		}
		return style
	}
	for name, c := range map[string]struct {
		style      custom.Style
		field      core.Field
		text, want string
	}{
		"days first":            {column("31/01/1985"), born, "03/04/1985", `"1985-04-03T00:00:00.000Z"`},
		"months first":          {column("x", "01/31/1985 10:00"), born, "03/04/1985", `"1985-03-04T00:00:00.000Z"`},
		"both":                  {column("31/01/1985", "01/31/1985"), born, "03/04/1985", unread},
		"both, and a country":   {column("31/01/1985", "01/31/1985").Else(custom.StyleOf("US")), born, "03.04.1985", `"1985-03-04T00:00:00.000Z"`},
		"decided by itself":     {column("31/01/1985"), born, "01/31/1985", day},
		"a country":             {custom.StyleOf("DE"), born, "03/04/1985", `"1985-04-03T00:00:00.000Z"`},
		"a country of both":     {custom.StyleOf("CA"), born, "03/04/1985", unread},
		"the column counts":     {column("31/01/1985").Else(custom.StyleOf("US")), born, "03/04/1985", `"1985-04-03T00:00:00.000Z"`},
		"commas":                {column("", "12,5"), number, "1.234", "1234"},
		"thousands with points": {column("1.234.567"), number, "1,234", "1.234"},
		"points":                {column("1,234.50"), number, "1,234", "1234"},
		"points, as the API":    {column("12.5"), number, "1.234", "1.234"},
		"both decimals":         {column("12.5", "12,5"), number, "1.234", "1.234"},
		"both decimals, comma":  {column("12.5", "12,5"), number, "1,234", unread},
		"a country's comma":     {custom.StyleOf("DE"), number, "1.234", "1234"},
		"a country's point":     {custom.StyleOf("US"), number, "$1,234", "1234"},
		"a column of points":    {column("12.5").Else(custom.StyleOf("DE")), number, "1.234", "1.234"},
		"an export's number":    {custom.Exact, number, "1.234", "1.234"},
		"an export's address":   {custom.Exact, site, "example.com", `"example.com"`},
		"an export's choice":    {custom.Exact, tier, "-", `"-"`},
		"an export, edited":     {custom.Exact, born, "31.01.1985", day},
	} {
		if got := shown(custom.Read(c.field, c.text, c.style)); got != c.want {
			t.Errorf("%s: %q is %s, want %s", name, c.text, got, c.want)
		}
	}
}

// What is typed in JSON stays typed; the rest is read as a text.
func TestReadJSON(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		field core.Field
		value any
		want  string
	}{
		{number, json.Number("1.234"), "1.234"},
		{number, false, unread},
		{vip, false, "false"},
		{vip, json.Number("1"), "true"},
		{vip, "on", "true"},
		{note, json.Number("12.50"), `"12.50"`},
		{note, false, "null"},
		{born, json.Number("31078"), day},
		{born, false, "null"},
		{extra, false, "false"},
		{extra, "[1]", `"[1]"`},
		{extra, []any{json.Number("1")}, "[1]"},
		{tags, []any{"VIP", "early"}, `["vip","early"]`},
		{tags, []any{"VIP", "late"}, `["vip"] without late`},
		{tags, []any{}, "[]"},
		{tags, "vip, early", `["vip","early"]`},
		{tier, []any{"gold"}, `"Gold"`},
		{tier, []any{"gold", "silver"}, unread},
		{note, []any{"x"}, `"x"`},
		{tier, "gold", `"Gold"`},
		{tier, nil, "null"},
		{note, map[string]any{"a": "b"}, unread},
		{relation, []any{"a"}, `["a"]`},
		{place, map[string]any{"lon": json.Number("1"), "lat": json.Number("2")}, `{"lat":2,"lon":1}`},
	} {
		if got := shown(custom.ReadJSON(c.field, c.value, custom.StyleOf("DE"))); got != c.want {
			t.Errorf("%s: %v is %s, want %s", c.field.GetName(), c.value, got, c.want)
		}
	}
}
