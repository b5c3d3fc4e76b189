package names

import (
	"slices"
	"strings"
	"unicode"
)

// Halves are the parts of a name, in the order of Join.
var Halves = [3]string{FirstName, MiddleName, LastName}

// IsHalf reports whether a field is a part of a name.
func IsHalf(field string) bool { return slices.Contains(Halves[:], field) }

// Whole returns the whole name of a contact from a name, which may be "", and the parts of a name. If the name only
// repeats the first part, or lacks the last one, it is the first name. If it is an email address, the parts count.
func Whole(name string, parts [3]string) string {
	switch {
	case name == "", strings.EqualFold(name, parts[0]), strings.Contains(name, "@") && parts != [3]string{}:
		return Join(parts)
	case parts[0] == "" && parts[2] != "" && !hasWords(name, parts[2]):
		return Join([3]string{name, parts[1], parts[2]})
	}
	return name
}

// hasWords reports whether a text has these words in this order, regardless of case, accents and punctuation.
func hasWords(text, words string) bool {
	folded := func(text string) string {
		var folded []string
		for _, word := range strings.FieldsFunc(text, func(c rune) bool { return kindOf(c) == ' ' }) {
			folded = append(folded, Fold(word))
		}
		return " " + strings.Join(folded, " ") + " "
	}
	return strings.Contains(folded(text), folded(words))
}

// isEastAsian reports whether a name consists of the letters of Chinese, Japanese or Korean, in which the family name
// comes first.
func isEastAsian(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(c rune) bool {
		return !unicode.In(c, unicode.Han, unicode.Hangul, unicode.Hiragana, unicode.Katakana) && c != 'ー' && c != '々'
	})
}

// Join returns the name with these parts. A column "name" next to a first name has the last name, or
// repeats the whole one.
func Join(parts [3]string) string {
	first, last := parts[0], parts[2]
	if first != "" && strings.HasPrefix(last, first+" ") {
		return last
	}
	if isEastAsian(first) && isEastAsian(last) && unicode.In([]rune(last)[0], unicode.Han, unicode.Hangul) {
		return last + first
	}
	return strings.Join(slices.DeleteFunc(parts[:], func(part string) bool { return part == "" }), " ")
}
