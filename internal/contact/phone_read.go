package contact

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/nyaruka/phonenumbers"

	"contactbase/internal/contact/names"
	"contactbase/internal/contact/written"
	"contactbase/internal/fault"
)

// ReadPhone returns the first number in a text that people and other programs write, which may be a list. It reads
// numbers of a country without its code, if it is one of these, which have two letters or are "": the first that fits
// counts.
func ReadPhone(text string, countries ...string) Reading {
	var known []string
	for _, country := range countries {
		if country = CountryCode(country); country != "" && !slices.Contains(known, country) {
			known = append(known, country)
		}
	}
	text = apart(withoutJSON(bare(text)))
	return readList(text, listSeparators, func(text string) (string, string, *fault.Field) {
		return onePhone(text, known)
	}).reading(Phone)
}

// onePhone returns a number, and what was assumed.
func onePhone(text string, countries []string) (number, assumed string, wrong *fault.Field) {
	text = strings.TrimSpace(text)
	for _, mark := range []string{"p:", "tel:"} { // of lead forms, and of links
		if len(text) > len(mark) && strings.EqualFold(text[:len(mark)], mark) {
			text = text[len(mark):]
		}
	}
	if found := floatPattern.FindStringSubmatch(text); found != nil {
		text = found[1]
	}
	number, wrong = normalizePhone(text, 0)
	if wrong == nil {
		return number, "", nil
	}
	if plain, fault := normalizePhone(withoutLabel(text), 0); fault == nil && strings.HasPrefix(plain, "+") {
		return plain, "", nil
	}
	if strings.HasPrefix(number, "+") || extensionPattern.MatchString(text) {
		return number, "", wrong
	}
	national := withoutLabel(number)
	for _, country := range countries {
		if found := nationalNumber(national, country); found != "" {
			return found, "", nil
		}
	}
	if found := international(national, len(countries) > 0); found != "" {
		if !strings.HasPrefix(national, "00") {
			assumed = written.Quote(national) + " has no plus sign: it is read as " + found
		}
		return found, assumed, nil
	}
	if len(countries) == 0 {
		return number, "", invalidPhone(
			"is not in international format, such as +4930123456; to read national numbers, set a country",
		)
	}
	return number, "", invalidPhone("is not a number of the country " + strings.Join(countries, " or ") +
		", and not in international format, such as +4930123456")
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
		return asciiDigit(r)
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

// nationalNumber returns the number of a country in international format, "" if it is none: a valid one with the
// country's code and no plus sign, or a national one.
func nationalNumber(number, country string) string {
	code := phonenumbers.GetCountryCodeForRegion(country)
	if whole, err := phonenumbers.Parse("+"+number, ""); err == nil &&
		int(whole.GetCountryCode()) == code && phonenumbers.IsValidNumber(whole) {
		return phonenumbers.Format(whole, phonenumbers.E164)
	}
	parsed, err := phonenumbers.Parse(number, country)
	if err != nil || !phonenumbers.IsPossibleNumber(parsed) {
		return ""
	}
	return phonenumbers.Format(parsed, phonenumbers.E164)
}

// MostNational is how many digits a number has at most that has no country's code in front, in nearly all countries.
const MostNational = 10

// international returns digits that are possible only with a plus sign before them with it, and "" for others. 00 is
// another way to write that sign. Without a country, few digits may be a number of any country.
func international(digits string, inCountry bool) string {
	whole, hasPrefix := strings.CutPrefix(digits, "00")
	if !hasPrefix && !inCountry && len(digits) <= MostNational || !phonePattern.MatchString("+"+whole) {
		return ""
	}
	parsed, err := phonenumbers.Parse("+"+whole, "")
	if err != nil || phonenumbers.IsPossibleNumberWithReason(parsed) != phonenumbers.IS_POSSIBLE {
		return ""
	}
	return phonenumbers.Format(parsed, phonenumbers.E164)
}

// CountryCode returns the code of a country as it is stored: in capitals.
func CountryCode(code string) string { return strings.ToUpper(strings.TrimSpace(code)) }

// IsCountry reports whether ReadPhone reads the national numbers of a country.
func IsCountry(code string) bool { return phonenumbers.GetSupportedRegions()[CountryCode(code)] }

// CountryIn returns the two letters of the country that a value beside a phone number names, by its letters or by its
// calling code, and "" for any other value.
func CountryIn(value string) string {
	value = CountryCode(value)
	if value == "UK" {
		value = "GB"
	}
	if IsCountry(value) {
		return value
	}
	code, err := strconv.ParseUint(strings.TrimPrefix(strings.Trim(value, "+()"), "00"), 10, 16)
	if region := phonenumbers.GetRegionCodeForCountryCode(int(code)); err == nil && IsCountry(region) {
		return region
	}
	return ""
}
