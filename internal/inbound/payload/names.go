package payload

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"

	"contactbase/internal/contact"
	"contactbase/internal/contact/names"
	"contactbase/internal/fault"
)

// Properties of an item with a special meaning: they find the contact or name the action.
const (
	fieldName       = "name"
	FieldEmail      = "email"
	FieldPhone      = "phone"
	fieldCompany    = "company"
	FieldExternalID = "externalId"
	FieldID         = "id"
	fieldAction     = "action"
)

// ignored are the read-only properties of a contact, which clients may send back.
var ignored = map[string]bool{"createdAt": true, "updatedAt": true}

// byField groups labels by the field that they mean, in the order in which they count: the field's own exact name,
// then by rank, then as they come.
func byField(labels []string) map[string][]int {
	groups := map[string][]int{}
	meanings := names.All(labels)
	for i, meaning := range meanings {
		if meaning.Field != "" {
			groups[meaning.Field] = append(groups[meaning.Field], i)
		}
	}
	for field, group := range groups {
		rank := func(i int) int {
			if labels[i] == field {
				return -1
			}
			return meanings[i].Rank
		}
		slices.SortStableFunc(group, func(a, b int) int { return cmp.Compare(rank(a), rank(b)) })
	}
	return groups
}

// foreignID is the warning about an ID of another system.
const foreignID = "id ignored: it is not an ID of this server; to match contacts by it, map it to externalId"

var ownID = regexp.MustCompile(`^[a-z0-9]{15}$`)

// matchID finds the contact by an ID of this server, and by no other.
func (it *Item) matchID(id string) {
	if ownID.MatchString(id) {
		it.Match = []contact.Key{{Field: FieldID, Value: id}}
	} else {
		it.Warnings = append(it.Warnings, foreignID)
	}
}

// parts are where an object has a text for a field, folded, as for Jotform's phone numbers and a company with an ID.
var parts = map[string][]string{
	names.Name: {"full", "formatted", "value"}, names.Phone: {
		"full", "value", "number", "e164", "e164phone",
		"international", "national", "nationalnumber", "freeformnumber",
	},
	names.Company: {"name", "value"}, names.Email: {"value", "address"},
	names.FirstName: {"value"}, names.LastName: {"value"},
}

// valueOf returns what scalar does, for an object the text in it that is meant for the field, and for a list its
// first text. An object in which the text is blank, such as an optional part of a form, has no value.
func valueOf(field string, v any) (any, *fault.Field) {
	switch v := v.(type) {
	case []any:
		if text := listed(field, v); text != nil {
			return text, nil
		}
	case map[string]any:
		if text, found := within(field, v); found {
			return text, nil
		}
	}
	return scalar(v)
}

// listed returns the text of the primary element of a list or, without one, the first text, nil if none.
func listed(field string, list []any) (first any) {
	for _, el := range list {
		text, _ := valueOf(field, el)
		obj, _ := el.(map[string]any)
		if text != nil && isPrimary(obj) {
			return text
		}
		if first == nil || isNoValue(first) && text != nil {
			first = text
		}
	}
	return first
}

// isPrimary reports whether an element of a list says that it counts first.
func isPrimary(obj map[string]any) bool {
	for _, flag := range []string{"primary", "is_primary", "isPrimary", "default", "is_default", "isDefault"} {
		if text, _ := scalar(obj[flag]); text == "true" || text == "1" {
			return true
		}
	}
	return false
}

// within returns the text in an object that is meant for the field, nil if none, and whether the object
// has a place for it.
func within(field string, obj map[string]any) (text any, found bool) {
	if field == names.Name {
		name, found := nameIn(obj)
		if name != "" {
			return name, true
		} else if found {
			return nil, true
		}
	}
	var resort any // a text for no value, if nothing else is there
	for _, p := range placesOf(field, obj) {
		value, wrong := scalar(p.value)
		if wrong != nil {
			value, wrong = valueOf(field, p.value)
		}
		if field == names.Phone && names.IsUniversal(p.name) {
			value = universal(value)
		}
		found = found || wrong == nil
		switch {
		case value == nil:
		case isNoValue(value):
			resort = value
		case field != names.Phone:
			return value, true
		case text == nil, isInternational(value) && !isInternational(text) && p.rank <= names.Unqualified:
			text = value
		}
	}
	if number, ok := text.(string); ok {
		return withCodes(obj, number), true
	}
	return resort, found
}

// place is a value in an object that may have the text for a field.
type place struct {
	name  string
	value any
	rank  int
}

// placesOf returns where an object may have the text for a field, in the order in which the places count: its parts,
// and then the names that mean the field, or do so behind its name, such as "work".
func placesOf(field string, obj map[string]any) (places []place) {
	for _, key := range slices.Sorted(maps.Keys(obj)) {
		part := slices.Index(parts[field], names.Fold(key))
		meaning := names.Of(key)
		if text, _ := obj[key].(string); meaning.Field != field &&
			(field == names.Email || field == names.Phone) && shapeOf(text) == field {
			meaning = names.Of(field + " " + key)
		}
		switch {
		case part >= 0:
			places = append(places, place{key, obj[key], part - len(parts[field]) - 1})
		case key == field:
			places = append(places, place{key, obj[key], -1})
		case meaning.Field == field && !names.IsID(key):
			places = append(places, place{key, obj[key], meaning.Rank})
		}
	}
	slices.SortStableFunc(places, func(a, b place) int { return cmp.Compare(a.rank, b.rank) })
	return places
}

// nameIn returns the name in an object, such as {"first": …, "last": …}, and whether the object has a part of a name.
func nameIn(obj map[string]any) (name string, found bool) {
	var joined [3]string
	for i, half := range names.Halves {
		var called []string
		for key := range obj {
			if names.Of(key).Field == half || names.Of("name "+key).Field == half {
				called = append(called, key)
			}
		}
		slices.Sort(called)
		for _, key := range called {
			text, wrong := scalar(obj[key])
			found = found || wrong == nil
			if text != nil && joined[i] == "" && !isNoValue(text) {
				joined[i] = text.(string)
			}
		}
	}
	whole, _ := scalar(obj[fieldName])
	text, _ := whole.(string)
	return names.Whole(text, joined), found
}

// nameInLines returns the name in lines such as "first = Ada", which Formstack sends, and another text as it is.
func nameInLines(text string) string {
	obj := map[string]any{}
	for line := range strings.Lines(text) {
		key, value, ok := strings.Cut(line, "=")
		if !ok {
			return text
		}
		obj[key] = value
	}
	if name, _ := nameIn(obj); name != "" {
		return name
	}
	return text
}

// universal returns a number that begins with the code of its country with a plus sign.
func universal(v any) any {
	if text, _ := v.(string); digitsOnly.MatchString(text) {
		return "+" + text
	}
	return v
}

func isInternational(text any) bool {
	number, _ := text.(string)
	return strings.HasPrefix(number, "+")
}

// withCodes returns a phone number with the codes of the country and the area that an object has beside it. A country
// may also be a name or "GB".
func withCodes(obj map[string]any, number string) string {
	if isInternational(number) {
		return number
	}
	if area := codeIn(obj, "area", "areacode"); area != "" {
		number = area + " " + number
	}
	for _, country := range countriesIn(obj) {
		if read := contact.ReadPhone(number, country); read.Wrong == nil && len(read.Warnings()) == 0 {
			return read.Value
		}
	}
	country := strings.TrimPrefix(
		codeIn(obj, "country", "countrycode", "dialcode", "callingcode", "countrycallingcode"), "00",
	)
	digits := names.Fold(number)
	switch {
	case country == "":
		return number
	case strings.HasPrefix(digits, country) && len(digits) > contact.MostNational:
		return "+" + digits
	case strings.HasPrefix(number, "0"):
		number = "(0)" + number[1:]
	}
	return "+" + country + " " + number
}

var codeShape = regexp.MustCompile(`^[+(]?[0-9]{1,6}\)?$`)

// codeIn returns the digits of the code with one of these names, folded and perhaps behind "phone", "" if none.
func codeIn(obj map[string]any, called ...string) string {
	for _, key := range slices.Sorted(maps.Keys(obj)) {
		text, _ := scalar(obj[key])
		if code, _ := text.(string); codeShape.MatchString(code) &&
			slices.Contains(called, strings.TrimPrefix(names.Fold(key), "phone")) {
			return strings.Trim(code, "+()")
		}
	}
	return ""
}

var (
	addressShape = regexp.MustCompile(`^[^@\s]+@[^@\s]+\.[^@\s]+$`)
	numberShape  = regexp.MustCompile(`^\+?[0-9 ()./-]{7,}$`)
)

// shapeOf returns the field that a text looks like, which is not a name: an email address or a phone number,
// "" for other text.
func shapeOf(text string) string {
	switch {
	case addressShape.MatchString(text):
		return names.Email
	case numberShape.MatchString(text):
		return names.Phone
	}
	return ""
}
