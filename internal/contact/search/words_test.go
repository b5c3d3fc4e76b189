package search_test

import (
	"testing"
	"unicode"
	"unicode/utf8"

	"contactbase/internal/contact/search"
)

func FuzzFold(f *testing.F) {
	for _, name := range []string{"Zoë Müller-Lüdenscheidt", "Łukasz Żółć", "Işıl Çağlar", "Nguyễn Thị Đào", "Νίκος Παππάς", "مُحَمَّد أحمد", "רָחֵל לוי", "김민지", "ＦＵＬＬ"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, s string) {
		folded := search.Fold(s)
		if again := search.Fold(folded); again != folded {
			t.Errorf("%q folds to %q, and that to %q", s, folded, again)
		}
	})
}

// A letter folds to the same in both cases, also in Cherokee, whose upper case Unicode folds to.
func TestFoldIgnoresCase(t *testing.T) {
	t.Parallel()
	for c := range rune(unicode.MaxRune + 1) {
		if !unicode.IsLetter(c) {
			continue
		}
		if upper, lower := search.Fold(string(unicode.ToUpper(c))), search.Fold(string(unicode.ToLower(c))); upper != lower {
			t.Errorf("%U folds to %q in upper case and to %q in lower case", c, upper, lower)
		}
	}
}

// Addresses are the same if they are after lower-casing each character. Nothing beyond ASCII becomes ASCII, and no
// two lower-case characters are the same.
func TestFoldEmail(t *testing.T) {
	t.Parallel()
	keys := map[string]rune{}
	for c := range rune(unicode.MaxRune + 1) {
		if !utf8.ValidRune(c) || unicode.IsSpace(c) { // which no address begins or ends with
			continue
		}
		key := search.FoldEmail(string(c))
		if first, _ := utf8.DecodeRuneInString(key); first <= unicode.MaxASCII && c > unicode.MaxASCII || utf8.RuneCountInString(key) != 1 {
			t.Errorf("%U has the key %q", c, key)
		}
		if again := search.FoldEmail(key); again != key {
			t.Errorf("%U has the key %q, and that has %q", c, key, again)
		}
		if want := string(unicode.ToLower(c)); key != want && c != '\u212A' && c != '\u0130' {
			t.Errorf("%U has the key %q, not %q", c, key, want)
		}
		if unicode.ToLower(c) != c {
			continue
		}
		if other, taken := keys[key]; taken {
			t.Errorf("%U and %U have the key %q", c, other, key)
		}
		keys[key] = c
	}
	for _, same := range [][2]string{{" Ada@Example.COM", "ada@example.com"}, {"JÖRG@BÜCHER.example", "jörg@bücher.example"}, {"ΣΑΣ@example.gr", "σασ@example.gr"}} {
		if a, b := search.FoldEmail(same[0]), search.FoldEmail(same[1]); a != b {
			t.Errorf("%q has the key %q, and %q has %q", same[0], a, same[1], b)
		}
	}
}
