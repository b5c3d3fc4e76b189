package search_test

import (
	"testing"

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
