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
		"Ada <ada@example.com>, <a@example.com>":   "is not a valid email address",
		"ada@example.com>":                         "is not a valid email address",
		"Ada <>":                                   "is not a valid email address",
		"mailto:":                                  "is not a valid email address",
		"(work)":                                   "is not a valid email address",
		"ada at example.com":                       "is not a valid email address",
		"A <" + strings.Repeat("a", 250) + "@b.example>": "must have at most 254 characters",
	} {
		got, wrong := contact.ReadEmail(text)
		if wrong == nil && got != want || wrong != nil && (want == "" || !strings.HasPrefix(wrong.Message, want)) {
			t.Errorf("%q is %q, %v, want %q", text, got, wrong, want)
		}
	}
}
