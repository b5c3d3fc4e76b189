package contact

import (
	"regexp"
	"strings"
	"unicode"

	"github.com/nyaruka/phonenumbers"

	"contactbase/internal/contact/names"
	"contactbase/internal/fault"
)

// phonePattern is E.164 with room for short numbers: a plus sign and 3 to 15 digits, the first not 0.
var phonePattern = regexp.MustCompile(`^\+[1-9][0-9]{2,14}$`)

// extensionPattern finds the extension behind a number.
var extensionPattern = regexp.MustCompile(
	`(?i)[0-9][^0-9a-z]*?((?:ext(?:ension|n)?|x|#|durchwahl)[^0-9a-z]*[0-9]+)\s*$`,
)

func normalizePhone(s string, _ int) (string, *fault.Field) {
	if phonePattern.MatchString(s) { // nearly all that programs send
		return s, nil
	}
	if found := extensionPattern.FindStringSubmatch(s); found != nil {
		return s, invalidPhone("has the extension " + found[1] + ": leave it out")
	}
	if s = withoutTrunkZero(plainPhone(s)); s != "" && !phonePattern.MatchString(s) {
		return s, invalidPhone("must be in international format, a plus sign and 3 to 15 digits, such as +4930123456")
	}
	return s, nil
}

func invalidPhone(message string) *fault.Field {
	return &fault.Field{Code: fault.CodeInvalidPhone, Message: message}
}

// plainPhone returns a number with the digits and signs of ASCII, and without what people write between them,
// apart from brackets.
func plainPhone(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case '０' <= r && r <= '９':
			return '0' + r - '０'
		case strings.ContainsRune("＋（）", r):
			return r - '＋' + '+'
		case strings.ContainsRune("-./－．／\u2212", r), '\u2010' <= r && r <= '\u2015',
			unicode.Is(unicode.Zs, r), unicode.Is(unicode.Bidi_Control, r):
			return -1
		}
		return r
	}, trimmed(s))
}

// withoutTrunkZero removes brackets, with the zero that people write in them for calls within a country. In Italy and
// San Marino that zero belongs to the number.
func withoutTrunkZero(s string) string {
	before, after, found := strings.Cut(s, "(0)")
	if code := strings.TrimPrefix(before, "+"); found && code != before &&
		code != "" && len(code) <= 3 && code != "39" && code != "378" {
		s = before + after
	}
	return brackets.Replace(s)
}

var brackets = strings.NewReplacer("(", "", ")", "")

// ReadPhone returns the number in a text that other programs write, in international format, or the errors in it. In
// a country, it reads national numbers, too: country has two letters, or is "".
func ReadPhone(text, country string) (string, *fault.Field) {
	text = strings.TrimSpace(text)
	for _, mark := range []string{"p:", "tel:"} { // of lead forms, and of links
		if len(text) > len(mark) && strings.EqualFold(text[:len(mark)], mark) {
			text = text[len(mark):]
		}
	}
	if found := floatPattern.FindStringSubmatch(text); found != nil {
		text = found[1]
	}
	number, wrong := normalizePhone(text, 0)
	if wrong != nil {
		if plain, fault := normalizePhone(withoutLabel(text), 0); fault == nil && strings.HasPrefix(plain, "+") {
			return plain, nil
		}
	}
	switch {
	case wrong == nil || strings.HasPrefix(number, "+") || extensionPattern.MatchString(text):
		return number, wrong
	case country == "":
		return number, invalidPhone(
			"is not in international format, such as +4930123456; to read national numbers, set a country",
		)
	}
	country = CountryCode(country)
	if parsed := national(withoutLabel(number), country); parsed != nil {
		return phonenumbers.Format(parsed, phonenumbers.E164), nil
	}
	return number, invalidPhone(
		"is not a number of the country " + country + ", and not in international format, such as +4930123456",
	)
}

// maxLabeled is the maximum length of a number with a label in bytes.
const maxLabeled = 150

// floatPattern finds a number that a program for tables has stored as a decimal one. The point is not a
// separator of digits.
var floatPattern = regexp.MustCompile(`^([0-9]{5,15})\.0$`)

// withoutLabel returns a number without invisible characters, and without a word for telephones before or behind it,
// such as "Mobile:" or "(home)". It returns "" if there is another word: the number of a fax machine is not a
// telephone number.
func withoutLabel(text string) string {
	if len(text) > maxLabeled {
		return ""
	}
	text = strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cf, r) {
			return -1
		}
		return r
	}, text)
	begin, end := strings.IndexAny(text, "+0123456789"), strings.LastIndexAny(text, "0123456789")+1
	if begin < 0 || begin >= end || !isPhoneLabel(text[:begin]) || !isPhoneLabel(text[end:]) {
		return ""
	}
	return text[begin:end]
}

// isPhoneLabel reports whether a text says at most which telephone a number is of.
func isPhoneLabel(text string) bool {
	return !strings.ContainsAny(text, "0123456789") &&
		(strings.Trim(text, " ()[]:.,") == "" || names.Of("phone "+text).Field == names.Phone)
}

// national returns the number of a country, nil if it is none: a valid one with the country's code and no plus sign,
// or a national one.
func national(number, country string) *phonenumbers.PhoneNumber {
	code := phonenumbers.GetCountryCodeForRegion(country)
	if whole, err := phonenumbers.Parse("+"+number, ""); err == nil &&
		int(whole.GetCountryCode()) == code && phonenumbers.IsValidNumber(whole) {
		return whole
	}
	parsed, err := phonenumbers.Parse(number, country)
	if err != nil || !phonenumbers.IsPossibleNumber(parsed) {
		return nil
	}
	return parsed
}

// CountryCode returns the code of a country as it is stored: in capitals.
func CountryCode(code string) string { return strings.ToUpper(strings.TrimSpace(code)) }

// IsCountry reports whether ReadPhone reads the national numbers of a country.
func IsCountry(code string) bool { return phonenumbers.GetSupportedRegions()[CountryCode(code)] }
