package search

import (
	"strings"
	"unicode"
)

// Apostrophes and hyphens of all kinds. People and programs write one for another, or leave them out.
const (
	apostrophes = "'\u2018\u2019\u02BC`\u00B4"
	hyphens     = "-\u00AD\u2010\u2011\u2012\u2013\u2014\u2015\u2212"
)

// plain replaces each mark by the one of its kind in ASCII.
var plain = func() *strings.Replacer {
	var pairs []string
	for mark, kinds := range map[string]string{"'": apostrophes, "-": hyphens} {
		for _, kind := range kinds {
			pairs = append(pairs, string(kind), mark)
		}
	}
	return strings.NewReplacer(pairs...)
}()

// Words returns the words of a search, with marks in ASCII.
func Words(s string) []string { return strings.Fields(plain.Replace(s)) }

func isMark(r rune) bool { return r == '\'' || r == '-' }

// isLetter also reports whether a character continues a letter, such as the vowel signs of Thai.
func isLetter(r rune) bool { return unicode.IsLetter(r) || unicode.IsMark(r) }

// withoutMarks returns a folded text without the marks between letters.
func withoutMarks(folded string) string {
	if !strings.ContainsFunc(folded, isMark) {
		return folded
	}
	letters := []rune(folded)
	kept := letters[:0]
	for i := 0; i < len(letters); {
		end := i
		for end < len(letters) && isMark(letters[end]) {
			end++
		}
		between := i > 0 && end < len(letters) && isLetter(kept[len(kept)-1]) && isLetter(letters[end])
		if end > i && !between {
			kept = append(kept, letters[i:end]...)
		}
		if end < len(letters) {
			kept = append(kept, letters[end])
		}
		i = end + 1
	}
	return string(kept)
}

// foldWord returns the word of a search as it is in the texts that have it. A mark at its end may be between letters
// there.
func foldWord(word string) string {
	folded := Fold(word)
	if bare := withoutMarks(folded); bare != folded {
		return strings.TrimFunc(bare, isMark)
	}
	return folded
}

// NameMark stands in NameKey between the folded name and the name.
const NameMark = "\x01"

// NameKey returns what contacts are sorted by: the name as a search folds it, then the name itself.
func NameKey(name string) string { return FoldName(name) + NameMark + name }

// FoldName returns a name as a search folds it. Names that it folds to the same are the same to people.
func FoldName(name string) string { return withoutMarks(Fold(name)) }

// earlierText is a text in SQL, of a search row s that an earlier version may have folded, without marks.
var earlierText = func() string {
	text := "s.`text`"
	for _, mark := range apostrophes + hyphens {
		text = "replace(" + text + ", '" + strings.ReplaceAll(string(mark), "'", "''") + "', '')"
	}
	return text
}()
