package contact

import (
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/nyaruka/phonenumbers"

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
