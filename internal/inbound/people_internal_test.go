package inbound

import (
	"slices"
	"testing"
)

func TestUnescapeJSON(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`grace\u0040example.com`:     "grace@example.com",
		`\"a\/b\\c\"`:                `"a/b\c"`,
		`a\nb\tc`:                    "a b c",
		`zo\u00eb\u00EB`:             "zoëë",
		`no escape`:                  "no escape",
		`\u`:                         "",
		`\u1`:                        "\x01",
		`\u004`:                      "\x04",
		`\u004x@example.com`:         "004x@example.com",
		`\uzzzz@example.com`:         "zzzz@example.com",
		`ends with a backslash \`:    "ends with a backslash ",
		`\u0061da\u0040example.com\`: "ada@example.com",
	} {
		if got := unescapeJSON(text); got != want {
			t.Errorf("%s becomes %q, not %q", text, got, want)
		}
	}
}

// A body with the content type of a form may be JSON, where a plus sign is not a space.
func TestReadings(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`{"email":"ada+x\u0040example.com"}`: `{"email":"ada+x@example.com"}`,
		`{"email":"ada+x@example.com"}`:      `{"email":"ada+x@example.com"}`,
		`email=ada%2Bx%40example.com`:        `email=ada+x@example.com`,
		`json=%22ada%2Bx%5Cu0040x.org%22`:    `json="ada+x@x.org"`,
	} {
		if got := readings("application/x-www-form-urlencoded", body); !slices.Contains(got, want) {
			t.Errorf("%s is read as %q", body, got)
		}
	}
}
