package filter_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"contactbase/internal/webhook/filter"
)

// FuzzFilter compiles any text, and evaluates it on any event. An error is one line, and the same evaluation
// has the same result.
func FuzzFilter(f *testing.F) {
	for _, text := range []string{
		`type == "contact.created"`, `"email" in changed && data.company == "Acme"`, `data.score > 7 ? data.vip == true : false`, `len(data.tags[1:]) > 0`,
		`lower(string(data.name)) contains "a"`, `data?.a?.b == nil`, `data.name[0:1] == "A"`, `int(data.score) % 2 == 1`, `(1..9)[2] in data.tags`, `-2 ** 9 < 1e9`,
		`{"a": 1}["a"] == 1`, "`a` == \"a\"", `any(data.tags, # == "a")`, `let a = 1; a == 1`, `data.a?.b ?? true == true`, `not (type startsWith "x")`,
	} {
		f.Add(text, created)
		f.Add(text, updated)
	}
	f.Fuzz(func(t *testing.T, text, payload string) {
		if utf8.RuneCountInString(text) > filter.MaxLength {
			t.Skip("it is refused before")
		}
		compiled, err := filter.Compile(text)
		if err != nil {
			if err.Error() == "" || strings.Contains(err.Error(), "\n") {
				t.Errorf("%q is refused with %q", text, err)
			}
			return
		}
		event, err := filter.Parse([]byte(payload))
		if err != nil {
			return
		}
		first, failed := compiled.Match(event)
		if again, err := compiled.Match(event); again != first || (err == nil) != (failed == nil) || failed != nil && !first {
			t.Errorf("%q of %s is %v (%v), then %v (%v)", text, payload, first, failed, again, err)
		}
	})
}
