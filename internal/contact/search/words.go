package search

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/runes"
	"golang.org/x/text/transform"
	"golang.org/x/text/unicode/norm"
)

// strokes replaces letters whose stroke is an accent to a reader, but which Unicode does not decompose.
var strokes = strings.NewReplacer("ø", "o", "ł", "l", "đ", "d", "ħ", "h", "ŧ", "t", "ı", "i", "æ", "ae", "œ", "oe")

// Fold returns a text without the differences that a search ignores, such as case, accents and kinds of hyphens:
// compatibility-decomposed, without accents, case-folded and composed again.
func Fold(s string) string {
	if isASCII(s) {
		return strings.ReplaceAll(strings.ToLower(s), "`", "'")
	}
	s = plain.Replace(s)
	folder := folders.Get().(transform.Transformer)
	defer folders.Put(folder)
	valid := strings.ToValidUTF8(s, "\uFFFD")         // the transformers leave text behind other bytes as it is
	folded, _, err := transform.String(folder, valid) // which resets the folder first
	if err != nil {
		return valid // never, as it is UTF-8
	}
	return strokes.Replace(strings.ToLower(folded)) // cases.Fold exchanges the cases of Cherokee
}

// folders keeps the transformers of Fold, because making one costs more than folding a text.
var folders = sync.Pool{New: func() any {
	return transform.Chain(norm.NFKD, runes.Remove(runes.Predicate(isAccent)), cases.Fold(), norm.NFC)
}}

// isAccent reports whether a reader would leave out a mark. Other marks make another letter, such as the vowel signs
// of Thai and Devanagari and the voicing marks of kana.
func isAccent(r rune) bool {
	const voiced, semiVoiced = '\u3099', '\u309a'
	return unicode.Is(unicode.Mn, r) &&
		unicode.In(r, unicode.Inherited, unicode.Cyrillic, unicode.Hebrew, unicode.Arabic) &&
		r != voiced && r != semiVoiced
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] > unicode.MaxASCII {
			return false
		}
	}
	return true
}

// FoldEmail returns the key of an email address. To every search, match and filter, two addresses are the same if
// they have the same key. Only the case of letters is changed, because a similar address may belong to somebody else.
func FoldEmail(s string) string {
	return strings.Map(lowerEmail, strings.TrimSpace(s))
}

// lowerEmail lower-cases a character, except for the two beyond ASCII that would become an ASCII letter: the Kelvin
// sign and the I with a dot.
func lowerEmail(r rune) rune {
	lower := unicode.ToLower(r)
	if r > unicode.MaxASCII && lower <= unicode.MaxASCII {
		return r
	}
	return lower
}

// Text joins the texts of a contact that a search looks into, and its phone numbers. It folds the texts, each of which
// is there once more without its apostrophes and hyphens. No word contains a line break, so that none matches across
// two texts. The numbers come last, so that a pattern can find them.
func Text(texts []string, numbers ...string) string {
	lines := make([]string, len(texts), 2*len(texts)+len(numbers))
	for i, text := range texts {
		lines[i] = Fold(text)
		if bare := withoutMarks(lines[i]); bare != lines[i] {
			lines = append(lines, bare)
		}
	}
	return strings.Join(append(lines, numbers...), "\n")
}

// digitsPattern matches a word that is a phone number or a part of one, however it is written.
var digitsPattern = regexp.MustCompile(`^[-+./()]*[0-9][-+./()0-9]*$`)

// trunkDigits is the number of digits from which leading zeros count as a national or international prefix.
const trunkDigits = 6

// phoneGlob returns the pattern with which a word of digits is looked for among the phone numbers of a search
// text, and "" for any other word. A plus sign or 00 matches the beginning of a number. Stored numbers have no
// national trunk prefix (0), so that it is left out of a word that is long enough to be a number, or continues
// in the next word.
func phoneGlob(word string, goesOn bool) string {
	if !digitsPattern.MatchString(word) {
		return ""
	}
	digits := strings.Map(func(r rune) rune {
		if r < '0' || r > '9' {
			return -1
		}
		return r
	}, word)
	const phone = "*\n+" // the numbers come last, after a line break
	long := goesOn || len(digits) >= trunkDigits
	switch {
	case strings.HasPrefix(word, "+"):
		return phone + digits + "*"
	case long && strings.HasPrefix(digits, "00"):
		return phone + digits[2:] + "*"
	case long:
		digits = strings.TrimPrefix(digits, "0")
	}
	return phone + "*" + digits + "*"
}

// Condition returns the SQL condition that a search row s contains all the words. It adds the parameters of the
// condition to params. isFolded is what Advisor.IsFolded returns.
func Condition(words []string, isFolded bool, params map[string]any) string {
	conditions := make([]string, 0, len(words))
	for i, word := range words {
		name := fmt.Sprintf("word%d", i)
		params[name] = foldWord(word)
		condition := "instr(s.`text`, :" + name + ") > 0"
		if !isFolded {
			condition = "(" + condition + " OR instr(" + earlierText + ", :" + name + ") > 0)"
		}
		goesOn := i+1 < len(words) && digitsPattern.MatchString(words[i+1])
		if glob := phoneGlob(word, goesOn); glob != "" {
			params[name+"phone"] = glob // digits mean only themselves in GLOB
			condition = "(" + condition + " OR s.`text` GLOB :" + name + "phone)"
		}
		conditions = append(conditions, condition)
	}
	return strings.Join(conditions, " AND ")
}
