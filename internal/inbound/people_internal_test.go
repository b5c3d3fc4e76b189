package inbound

import "testing"

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
