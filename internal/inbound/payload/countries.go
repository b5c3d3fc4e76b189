package payload

import (
	"cmp"
	"slices"
	"strings"

	"contactbase/internal/contact"
	"contactbase/internal/contact/names"
)

// besideNumbers are words in the names of objects that say where a person is.
var besideNumbers = []string{"address", "billing", "shipping", "location", "phone"}

// countriesIn returns the countries that an object names, and then those in its addresses, in the order in which they
// count for a phone number. It returns nothing for another value.
func countriesIn(v any) []string {
	obj, _ := v.(map[string]any)
	found, within := countriesOf(obj), []string(nil)
	for key, inner := range obj {
		inner, isObject := inner.(map[string]any)
		if isObject && len(inner) > 0 && slices.ContainsFunc(besideNumbers, func(word string) bool {
			return len(key) < 2*len("phone_country_code") && strings.Contains(names.Fold(key), word)
		}) {
			within = append(within, key)
		}
	}
	slices.Sort(within)
	for _, key := range within {
		inner, _ := obj[key].(map[string]any)
		found = append(found, countriesOf(inner)...)
	}
	return found
}

// countryOf returns the country that a value names, "" if none.
func countryOf(value any) string {
	text, _ := scalar(value)
	code, _ := text.(string)
	return contact.CountryIn(code)
}

// countriesOf returns the countries that the properties of an object name.
func countriesOf(obj map[string]any) (found []string) {
	type named struct {
		key, country string
		rank         int
	}
	var all []named
	for key, value := range obj {
		if rank, ok := names.Country(key); ok {
			if country := countryOf(value); country != "" {
				all = append(all, named{key, country, rank})
			}
		}
	}
	slices.SortFunc(all, func(a, b named) int { return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.key, b.key)) })
	for _, one := range all {
		found = append(found, one.country)
	}
	return found
}
