package custom

import (
	"slices"
	"strings"
)

// Style is how the texts of a column, or of a country, write numbers and dates. The zero Style decides nothing, and
// neither does a column that has both styles.
type Style int

// The styles.
const (
	decimalPoint Style = 1 << iota
	decimalComma
	dayFirst
	monthFirst
	exact

	decimals = decimalPoint | decimalComma
	dates    = dayFirst | monthFirst

	// Exact is the style of what this program has written: a text is what it says.
	Exact = exact | decimalPoint
)

// Seen returns the styles that a text shows which can be read in one way only, such as 31.01.1985 and 1,234.50.
func Seen(text string) (s Style) {
	if !strings.ContainsAny(text, "0123456789") {
		return 0
	}
	if strings.ContainsAny(text, ".,") {
		if number, ok := parseNumber(text); ok {
			return number.style
		}
	}
	if '0' <= text[0] && text[0] <= '9' && strings.ContainsAny(text, "./- ") {
		if date, ok := parseDate(text); ok {
			return date.style
		}
	}
	return 0
}

// Else returns the style with the decisions of another one where it has none.
func (s Style) Else(other Style) Style {
	for _, pair := range []Style{decimals, dates} {
		if found := s & pair; found == 0 || found == pair {
			s = s&^pair | other&pair
		}
	}
	return s
}

// StyleOf returns the style of a country of two letters, according to Unicode's Common Locale Data Repository. Where
// people write both, it decides nothing.
func StyleOf(country string) (s Style) {
	has := func(countries string) bool { return slices.Contains(strings.Fields(countries), country) }
	switch {
	case country == "" || has(bothDecimals):
	case has(pointCountries):
		s |= decimalPoint
	default:
		s |= decimalComma
	}
	switch {
	case country == "" || has(yearFirst):
	case has(monthFirstCountries):
		s |= monthFirst
	default:
		s |= dayFirst
	}
	return s
}

const (
	bothDecimals   = "CA ZA"
	pointCountries = "AE AG AI AS AU BB BD BM BS BW BZ CH CN CR DM DO EG ET FJ FM GB GD GG GH GI GM GT GU GY HK HN IE " +
		"IL IM IN IQ IR JE JM JO JP KE KH KN KP KR KW KY LB LC LI LK LR LS LY MH MM MO MP MT MU MV MW MX " +
		"MY NA NG NI NP NR NZ OM PA PE PG PH PK PR PW QA RW SA SB SD SG SL SV SY SZ TC TH TO TT TV TW TZ " +
		"UG UM US VC VG VI VU WS YE ZM ZW"
	monthFirstCountries = "AS FM GU MH MP PA PH PR PW UM US VI"
	yearFirst           = "CA CN JP KP KR MN TW"
)
