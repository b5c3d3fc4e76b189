package contact_test

import (
	"maps"
	"strings"
	"testing"

	"contactbase/internal/contact"
)

// What other systems send for the admin's own fields becomes what the fields take.
func TestCustomInput(t *testing.T) {
	t.Parallel()
	b := withEveryKind(t)
	sent := map[string]any{
		"note": "n", "score": "1.5", "vip": "true", "tags": "a", "size": "", "papers": "x", "internal": "x", "utm": "y", "site": nil,
	}
	known, unknown, err := contact.CustomNames(b.App, maps.Keys(sent))
	if err != nil || len(known) != 6 || strings.Join(unknown, " ") != "internal papers utm" {
		t.Fatalf("known are %v, unknown are %v (%v)", known, unknown, err)
	}
	for _, name := range unknown {
		delete(sent, name)
	}
	read := func(sent map[string]any) (map[string]any, []contact.LeftOut) {
		input, left, err := contact.CustomInput(b.App, sent, 0)
		if err != nil {
			t.Fatal(err)
		}
		return named(input), left
	}
	input, _ := read(sent)
	c := b.Add(input)
	for name, want := range map[string]string{"note": `"n"`, "score": "1.5", "vip": "true", "tags": `["a"]`, "size": "null", "site": "null"} {
		if got := property(t, c, name); got != want {
			t.Errorf("%s is %s, not %s", name, got, want)
		}
	}
	for _, score := range []string{"many", "Inf", "1e400", "12345678901234567890"} {
		input, left := read(map[string]any{"score": score})
		if _, err := b.create(input); err == nil && len(left) == 0 {
			t.Errorf("a score of %s is accepted", score)
		}
	}
	for score, want := range map[string]string{"1e2": "100", ".5": "0.5", "-0": "0"} {
		input, _ := read(map[string]any{"score": score})
		if got := property(t, b.Add(input), "score"); got != want {
			t.Errorf("a score of %q is %s", score, got)
		}
	}
}
