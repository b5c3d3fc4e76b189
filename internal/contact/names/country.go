package names

import (
	"slices"
	"strings"
)

// countryBegin are words before those for a country, which do not change what is meant.
//
//nolint:misspell // some words are not English
var countryBegin = strings.Fields("primary phone mobile tel telephone telefon billing shipping mailing default " +
	"home work business other address adresse adres person contact customer your user my invoice")

// callingCodes and countries are the names of the calling code of a phone number and of a country, folded: in English,
// German, French, Spanish, Italian, Portuguese and Dutch.
//
//nolint:misspell // most words are not English
var (
	callingCodes = strings.Fields("callingcode dialcode dialingcode diallingcode countrycallingcode countrydialcode " +
		"countrydialingcode internationalprefix countryprefix landesvorwahl laendervorwahl landervorwahl indicatif " +
		"indicatifpays indicatiftelephonique prefijointernacional prefijopais prefissointernazionale prefixointernacional " +
		"codigodiscado ddi landnummer")
	countries = strings.Fields("country countrycode countries countryregion countryiso countryiso2 countryisocode " +
		"countryisoalpha2 countrycodealpha2 countrycodeiso isocountry isocountrycode isocode land landercode laendercode " +
		"landerkennung laenderkennung landescode landkurzel pays codepays codedupays pais codigopais codigodepais " +
		"codigodelpais paese codicepaese landcode landencode")
)

// The ranks of what says where a phone number is from: the lowest one counts.
const (
	callingCodeRank  = iota
	phoneCountryRank // "country code" may be either
	countryRank
)

// Country reports whether a heading or a property names a country, or the calling code of one. Of several, the one with
// the lowest rank counts for a phone number.
func Country(heading string) (rank int, ok bool) {
	if len(heading) > maxHeading {
		return 0, false
	}
	folded, ofPhone := Fold(heading), false
	for cut := true; cut; {
		cut = false
		folded = strings.TrimLeft(folded, "0123456789")
		for _, word := range countryBegin {
			if rest, begins := strings.CutPrefix(folded, word); begins {
				folded, cut = rest, true
				ofPhone = ofPhone || word == "phone" || word == "mobile" || word == "tel"
			}
		}
	}
	switch folded = strings.TrimRight(folded, "1"); {
	case slices.Contains(callingCodes, folded), ofPhone && folded == "prefix":
		return callingCodeRank, true
	case slices.Contains(countries, folded) && (ofPhone || folded == "countrycode"):
		return phoneCountryRank, true
	case slices.Contains(countries, folded):
		return countryRank, true
	}
	return 0, false
}
