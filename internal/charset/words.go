package charset

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// word is a word with a character beyond ASCII, as an encoding reads it.
type word struct {
	isLatin   bool
	languages uint32  // that have the letters of a Latin word, by their index in alphabets
	fluency   float64 // from 0 to 1: how often a letter beyond ASCII is a vowel beside a consonant, or the reverse
	isOdd     bool    // whether it begins with a small letter beyond ASCII, or has quotation marks: names rarely do
	penalty   float64 // 0 for a possible word, 1 for an impossible one, 2 if the encoding lacks one of its bytes
}

// wordsOf returns the words of a text that have a character beyond ASCII.
func wordsOf(text string) (words []word) {
	for _, found := range strings.FieldsFunc(text, isBetweenWords) {
		if strings.ContainsFunc(found, isHigh) && strings.ContainsFunc(found, unicode.IsLetter) {
			words = append(words, readWord([]rune(found)))
		}
	}
	return words
}

func isHigh(c rune) bool { return c >= utf8.RuneSelf }

func isBetweenWords(c rune) bool {
	return unicode.IsSpace(c) || c < utf8.RuneSelf && !unicode.IsLetter(c) && c != '\''
}

func readWord(letters []rune) word {
	w := word{languages: anyLanguage, penalty: penalty(letters), isOdd: isHigh(letters[0]) && unicode.IsLower(letters[0])}
	alternating, neighbours := 0, 0
	for i, c := range letters {
		switch {
		case !isHigh(c):
		case !unicode.IsLetter(c):
			w.isOdd = w.isOdd || unicode.In(c, unicode.Pi, unicode.Pf, unicode.Ps, unicode.Po) && c != '’'
		case unicode.Is(unicode.Latin, c):
			w.isLatin = true
			w.languages &= languagesOf(c)
			fallthrough
		case unicode.In(c, unicode.Cyrillic, unicode.Greek): // the others write no vowels
			found, beside := alternations(letters, i)
			alternating, neighbours = alternating+found, neighbours+beside
		}
	}
	w.fluency = 1
	if neighbours > 0 {
		w.fluency = float64(alternating) / float64(neighbours)
	}
	return w
}

// alternations returns how many letters are beside the one at an index, and how many of them are a vowel beside a
// consonant, or the reverse.
func alternations(letters []rune, i int) (alternating, neighbours int) {
	for _, at := range []int{i - 1, i + 1} {
		if at < 0 || at == len(letters) || !unicode.IsLetter(letters[at]) {
			continue
		}
		neighbours++
		if isVowel(letters[i]) != isVowel(letters[at]) {
			alternating++
		}
	}
	return alternating, neighbours
}

// vowels has the vowels without accents.
const vowels = "aeiouyæøœıаеиоуыэюяієαεηιουω"

func isVowel(c rune) bool {
	for _, base := range norm.NFD.String(string(unicode.ToLower(c))) {
		return strings.ContainsRune(vowels, base)
	}
	return false
}

// penalty returns the penalty of a word.
func penalty(letters []rune) (most float64) {
	var script *unicode.RangeTable
	before := rune(0)
	for i, c := range letters {
		switch isEnd := i == len(letters)-1; {
		case c == utf8.RuneError, unicode.IsControl(c), unicode.Is(unicode.Co, c):
			return 2
		case isSymbol(c, i == 0, isEnd), isMisplaced(c, isEnd),
			isHigh(before|c) && unicode.IsUpper(c) && unicode.IsLower(before):
			most = 1
		}
		before = c
		if of := scriptOf(c); of != nil {
			if script != nil && of != script {
				most = 1
			}
			script = of
		}
	}
	return most
}

// isSymbol reports whether a character is not one of a word.
func isSymbol(c rune, isBegin, isEnd bool) bool {
	switch {
	case !isHigh(c), strings.ContainsRune("‘’·\u00a0\u00ad\u200e\u200f", c):
		return false
	case strings.ContainsRune("¿¡„‚", c):
		return !isBegin
	case strings.ContainsRune("“”«»‹›", c):
		return !isBegin && !isEnd
	case strings.ContainsRune("®™…", c):
		return !isEnd
	}
	return c == 'ª' || c == 'º' || !unicode.In(c, unicode.Lu, unicode.Ll, unicode.Lo, unicode.Lt, unicode.M)
}

// isMisplaced reports whether a letter has another form at this place of a word: Hebrew and Greek have forms for the
// end of words.
func isMisplaced(c rune, isLast bool) bool {
	return strings.ContainsRune("ךםןףץς", c) && !isLast || c == 'σ' && isLast
}

// scripts are those of the encodings with one byte a character. A word has one of them.
var scripts = []*unicode.RangeTable{
	unicode.Latin, unicode.Cyrillic, unicode.Greek, unicode.Hebrew, unicode.Arabic, unicode.Thai,
}

func scriptOf(c rune) *unicode.RangeTable {
	for _, script := range scripts {
		if unicode.Is(script, c) {
			return script
		}
	}
	return nil
}

// language is a language that is written in Latin letters.
type language struct {
	letters string  // the small ones beyond ASCII that its names have
	regions string  // of the encodings that its texts have
	usual   float64 // 1, or less for a language of few people
}

// regions has the regions of encodings: western, central, Turkish, Baltic. Others have all languages.
var regions = map[string]string{
	western: "w", "macintosh": "w", "windows-1250": "c", "iso-8859-2": "c", "windows-1254": "t", "windows-1257": "b",
}

var languages = []language{
	{"äöüßé", "wctb", 1},           // German
	{"àâæçéèêëîïôœùûüÿ", "wt", 1},  // French
	{"áéíóúüñç", "wt", 1},          // Spanish
	{"áâãàçéêíóôõúü", "wt", 1},     // Portuguese
	{"àèéìíîòóùú", "wt", 1},        // Italian
	{"àçèéíïòóúü", "wt", 0.9},      // Catalan
	{"éèëïóöüáêç", "wt", 1},        // Dutch
	{"åäöéüáà", "wt", 1},           // Finnish, Swedish
	{"æøåéöäüòóô", "wt", 1},        // Danish, Norwegian
	{"áðéíóúýþæö", "w", 0.9},       // Icelandic
	{"áéíóú", "wt", 0.9},           // Irish
	{"ąćęłńóśźż", "c", 1},          // Polish
	{"áčďéěíňóřšťúůýžöü", "c", 1},  // Czech
	{"áäčďéíĺľňóôŕšťúýžě", "c", 1}, // Slovak
	{"áéíóöőúüű", "c", 1},          // Hungarian
	{"ăâîşţșțáéö", "c", 1},         // Romanian
	{"čćđšž", "c", 1},              // Bosnian, Croatian, Serbian, Slovene
	{"çë", "wct", 0.9},             // Albanian
	{"çğıöşüâîûİ", "t", 1},         // Turkish
	{"ąčęėįšųūž", "b", 1},          // Lithuanian
	{"āčēģīķļņšūžōŗ", "b", 1},      // Latvian
	{"äöõüšž", "wb", 0.9},          // Estonian
	{"ăâđêôơưàảãáạằẳẵắặầẩẫấậèẻẽéẹềểễếệìỉĩíịòỏõóọồổỗốộờởỡớợùủũúụừửữứựỳỷỹýỵ", "", 0.9}, // Vietnamese
}

// anyLanguage is the set of all languages.
const anyLanguage = 1<<32 - 1

// languagesIn returns the set of the languages that have texts in the encoding.
func languagesIn(encoding string) (set uint32) {
	region, isKnown := regions[encoding]
	for i, of := range languages {
		if !isKnown || strings.Contains(of.regions, region) {
			set |= 1 << i
		}
	}
	return set
}

// languagesOf returns the set of the languages that have a letter.
func languagesOf(letter rune) (set uint32) {
	for i, of := range languages {
		if strings.ContainsRune(of.letters, letter) || strings.ContainsRune(of.letters, unicode.ToLower(letter)) {
			set |= 1 << i
		}
	}
	return set
}
