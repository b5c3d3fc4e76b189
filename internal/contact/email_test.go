package contact_test

import (
	"strings"
	"testing"

	"contactbase/internal/contact"
)

// Other programs write names and marks beside an address.
func TestReadEmail(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                                "",
		" Ada@Example.com ":               "Ada@Example.com",
		"Ada King <ada@example.com>":      "ada@example.com",
		`"King, Ada" <ada@example.com>`:   "ada@example.com",
		"<ada@example.com>":               "ada@example.com",
		"MAILTO:ada@example.com?subject=": "ada@example.com",
		"ada@example.com <mailto:ada@example.com>": "ada@example.com",
		"ada@example.com (work)":                   "ada@example.com",
		"\u200bada@exam\u00adple.com\ufeff":        "ada@example.com",
		"a\u200dda@example.com":                    "contains an invisible character",
		"ada@example.com>":                         "is not a valid email address",
		"Ada <>":                                   "is not a valid email address",
		"mailto:":                                  "is not a valid email address",
		"(work)":                                   "is not a valid email address",
		"ada at example.com":                       "is not a valid email address",
		"A <" + strings.Repeat("a", 250) + "@b.example>": "must have at most 254 characters",
	} {
		read := contact.ReadEmail(text)
		got, wrong := read.Value, read.Wrong
		if wrong == nil && got != want || wrong != nil && (want == "" || !strings.HasPrefix(wrong.Message, want)) {
			t.Errorf("%q is %q, %v, want %q", text, got, wrong, want)
		}
	}
}

// The first valid address of a list counts. Commas separate addresses, and not what is inside of a name.
func TestReadEmails(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][2]string{
		"Ada <ada@example.com>, <a@example.com>":               {"ada@example.com", `"<a@example.com>"`},
		"ada@example.com;":                                     {"ada@example.com", ""},
		"ada@example.com, ":                                    {"ada@example.com", ""},
		"none; ada@example.com; b@example.com":                 {"ada@example.com", `"none, b@example.com"`},
		"Lee, Ann <ann@example.com>":                           {"ann@example.com", ""},
		"Lee, Ann <ann@example.com>, Roe, Bo <bo@example.com>": {"ann@example.com", `"Roe, Bo <bo@example.com>"`},
		`"Lee, A@nn" <ann@example.com>; bo@example.com`:        {"ann@example.com", `"bo@example.com"`},
		"bo@example.com, Lee, Ann <ann@example.com>":           {"bo@example.com", `"Lee, Ann <ann@example.com>"`},
		"ada@example.com ::: b@example.com":                    {"ada@example.com", `"b@example.com"`},
		`["ada@example.com", "b@example.com"]`:                 {"ada@example.com", `"b@example.com"`},
		"mailto:ada@example.com,b@example.com?cc=x":            {"ada@example.com", `"b@example.com?cc=x"`},
		`"Ada <ada@example.com>`:                               {"ada@example.com", ""},
	} {
		read := contact.ReadEmail(text)
		left := ""
		if want[1] != "" {
			left = "email: the first valid value of a list counts; " + want[1] + " left out"
		}
		if read.Wrong != nil || read.Value != want[0] || strings.Join(read.Warnings(), "") != left {
			t.Errorf("%q is %q %q, %v", text, read.Value, read.Warnings(), read.Wrong)
		}
	}
}
