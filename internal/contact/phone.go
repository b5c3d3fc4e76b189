package contact

import (
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

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
		return withoutPlainTrunkZero(s), nil
	}
	s = strings.Map(asciiDigit, s)
	if found := extensionPattern.FindStringSubmatch(s); found != nil {
		return s, invalidPhone("has the extension " + found[1] + ": leave it out")
	}
	if s = withoutTrunkZero(plainPhone(s)); s != "" && !phonePattern.MatchString(s) {
		return s, invalidPhone("must be in international format, a plus sign and 3 to 15 digits, such as +4930123456")
	}
	return withoutPlainTrunkZero(s), nil
}

func invalidPhone(message string) *fault.Field {
	return &fault.Field{Code: fault.CodeInvalidPhone, Message: message}
}

// plainPhone returns a number with the digits and signs of ASCII, and without what people write between them,
// apart from brackets.
func plainPhone(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case strings.ContainsRune("＋（）", r):
			return r - '＋' + '+'
		case strings.ContainsRune("-./－．／\u2212", r), '\u2010' <= r && r <= '\u2015',
			unicode.Is(unicode.Zs, r), unicode.Is(unicode.Bidi_Control, r):
			return -1
		}
		return asciiDigit(r)
	}, trimmed(s))
}

// asciiDigit returns the ASCII digit with the value of a decimal digit of any script, and any other character
// unchanged. Unicode has the digits of a script side by side, from zero on.
func asciiDigit(r rune) rune {
	if r < utf8.RuneSelf || !unicode.IsDigit(r) {
		return r
	}
	for _, digits := range unicode.Nd.R16 {
		if rune(digits.Lo) <= r && r <= rune(digits.Hi) {
			return '0' + (r-rune(digits.Lo))%10
		}
	}
	for _, digits := range unicode.Nd.R32 {
		if rune(digits.Lo) <= r && r <= rune(digits.Hi) {
			return '0' + (r-rune(digits.Lo))%10
		}
	}
	return r
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

// withoutPlainTrunkZero removes the zero behind the code of a country if the number is valid only without it. In
// Hungary, people dial 06.
func withoutPlainTrunkZero(number string) string {
	code := callingCode(number)
	rest, hasZero := strings.CutPrefix(strings.TrimPrefix(number, "+"+code), "0")
	if code == "" || !hasZero || isValidAsWritten(number, code) {
		return number
	}
	for _, dialled := range []string{"+" + code + rest, number} {
		parsed, err := phonenumbers.Parse(dialled, "")
		if err == nil && phonenumbers.IsValidNumber(parsed) {
			return phonenumbers.Format(parsed, phonenumbers.E164)
		}
	}
	return number
}

// isValidAsWritten reports whether an international number is valid with the zeros behind the code of the country.
func isValidAsWritten(number, code string) bool {
	national := number[1+len(code):]
	digits := strings.TrimLeft(national, "0")
	significant, _ := strconv.ParseUint(digits, 10, 64)
	country, _ := strconv.Atoi(code)
	return phonenumbers.IsValidNumber(&phonenumbers.PhoneNumber{
		CountryCode: new(int32(country)), NationalNumber: &significant,
		ItalianLeadingZero: new(true), NumberOfLeadingZeros: new(int32(len(national) - len(digits))),
	})
}

// callingCode returns the calling code of the country at the beginning of an international number, "" for none. No
// code is the beginning of another one.
func callingCode(number string) string {
	const longest = 3
	for length := 1; length <= min(longest, len(number)-1); length++ {
		code, _ := strconv.Atoi(number[1 : 1+length])
		if phonenumbers.GetRegionCodeForCountryCode(code) != phonenumbers.UNKNOWN_REGION {
			return number[1 : 1+length]
		}
	}
	return ""
}

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
