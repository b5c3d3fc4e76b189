package xlsx

import (
	"slices"
	"strings"
	"unicode"
)

// maxCode is the maximum length of a format's code in Excel, in characters. A longer one shows numbers as they are.
const maxCode = 255

// maxDecimals is the maximum number of digits after the decimal point in Excel. A format with more shows
// numbers as they are.
const maxDecimals = 30

// format is how a number is shown (ECMA-376 part 1, 18.8.30, numFmt). The zero value shows it as it is.
type format struct {
	date, clock, seconds bool // shows a date, a time of day, its seconds
	elapsed              bool // shows hours beyond 24
	layout
}

// layout is where the digits of a number go. Without places for any, the number is shown as it is.
type layout struct {
	whole     string // what is before the decimal point, with a place for each digit
	places    int    // in whole
	isPoint   bool   // whether there is a decimal point
	least     int    // digits after it
	most      int
	end       string // what follows the digits
	isPercent bool
}

// The places for a digit, which are not characters of XML.
const (
	digitOrZero    = '\x00'
	digitOrNothing = '\x01'
)

// symbol is a digit of a number ('0', or '#' for one that may be missing), or a text beside its digits.
type symbol struct {
	kind rune
	text string
}

const literal = '"'

// builtIn returns the code of a format that workbooks name only by its number (18.8.30). Dates and currencies depend
// on the language of the program that shows them, so the codes are what a contact needs of them.
func builtIn(id int) string {
	switch {
	case id >= 14 && id <= 17, id >= 27 && id <= 31, id == 36, id >= 50 && id <= 58:
		return "yyyy-mm-dd"
	case id == 22:
		return "yyyy-mm-dd hh:mm"
	case id == 18, id == 20, id == 32, id == 34:
		return "hh:mm"
	case id == 19, id == 21, id == 33, id == 35, id == 45, id == 47:
		return "hh:mm:ss"
	case id == 46:
		return "[h]:mm:ss"
	case id == 1, id == 3, id == 5, id == 6, id == 37, id == 38, id == 41, id == 42:
		return "0"
	case id == 2, id == 4, id == 7, id == 8, id == 39, id == 40, id == 43, id == 44:
		return "0.00"
	case id == 9:
		return "0%"
	case id == 10:
		return "0.00%"
	}
	return ""
}

// parseFormat returns the format of positive numbers, which is the first section of the code. The program that shows
// a number groups its digits and adds a currency; the format leaves out both. A format with an exponent, a fraction
// or a condition shows the number as it is.
func parseFormat(code string) (f format) {
	runes := []rune(code)
	if len(runes) > maxCode {
		return f
	}
	var isMonth, isPlain bool
	var shown draft
	for _, s := range symbols(runes) {
		switch s.kind {
		case 'y', 'd':
			f.date = true
		case 'm':
			isMonth = true
		case 'h':
			f.clock = true
		case 's':
			f.clock, f.seconds = true, true
		case '[':
			f.elapsed = f.elapsed || isElapsed(s.text)
			isPlain = isPlain || strings.ContainsAny(s.text, "<>=")
		case 'e', '/':
			isPlain = true
		default:
			shown.add(s)
		}
	}
	f.date = f.date || isMonth && !f.clock && !f.elapsed
	if !isPlain && shown.most <= maxDecimals && shown.places+shown.most > 0 {
		f.layout = shown.layout
		f.whole, f.end = shown.before.String(), shown.behind.String()
	}
	return f
}

// draft is a layout to which symbols are added.
type draft struct {
	layout
	before, behind strings.Builder // what becomes whole and end
}

// add adds a symbol of a number.
func (l *draft) add(s symbol) {
	switch s.kind {
	case '.':
		l.isPoint = true
	case '0', '#':
		switch {
		case !l.isPoint:
			l.places++
			place := byte(digitOrNothing)
			if s.kind == '0' {
				place = digitOrZero
			}
			l.before.WriteByte(place)
		case s.kind == '0':
			l.most++
			l.least = l.most
		default:
			l.most++
		}
	case '%', literal:
		l.isPercent = l.isPercent || s.kind == '%'
		if l.isPoint {
			l.behind.WriteString(s.text)
		} else {
			l.before.WriteString(s.text)
		}
	}
}

func isElapsed(bracket string) bool {
	return bracket != "" && strings.Trim(strings.ToLower(bracket), "hms") == ""
}

// symbols returns the symbols of the first section of a code: letters in lower case, quoted and escaped text and
// characters without a meaning as literals, and what is in brackets as '['.
func symbols(code []rune) (found []symbol) {
	for rest := code; len(rest) > 0 && rest[0] != ';'; {
		s, length := symbol{unicode.ToLower(rest[0]), string(rest[0])}, 1
		switch s.kind {
		case '"', '[':
			closing := map[rune]rune{'"': '"', '[': ']'}[s.kind]
			text := rest[1:]
			if end := slices.Index(text, closing); end >= 0 {
				text = text[:end]
			}
			s.text = string(text)
			length = len(text) + 2
		case '\\':
			s = symbol{literal, string(rest[1:min(2, len(rest))])}
			length = 2
		case '_', '*': // a space as wide as the next character, or as many of it as fit
			s = symbol{}
			length = 2
		case '?':
			s.kind = '#'
		case 'y', 'm', 'd', 'h', 's', 'e', '0', '#', '.', '/', '%':
		case ',':
			s = symbol{}
		default:
			s.kind = literal
		}
		if s.kind == literal && strings.IndexFunc(s.text, isCurrency) >= 0 {
			s.text = strings.Join(strings.FieldsFunc(s.text, isCurrency), "")
		}
		found = append(found, s)
		rest = rest[min(length, len(rest)):]
	}
	return found
}

func isCurrency(c rune) bool { return unicode.Is(unicode.Sc, c) }
