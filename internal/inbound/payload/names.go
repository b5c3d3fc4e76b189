package payload

import (
	"cmp"
	"maps"
	"regexp"
	"slices"

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

// IsOptional reports whether a contact can do without a property. The others say which contact it is.
func IsOptional(name string) bool {
	return name == FieldPhone || name == fieldCompany || !isField(name) && name != FieldID
}

// byField groups labels by the field that they mean, in the order in which they count: the field's own exact name, then by rank, then as they
// come.
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

// parts are where an object has a text for a field, as for Jotform's phone numbers and a company with an ID.
var parts = map[string][]string{
	names.Name: {"full", "value"}, names.Phone: {"full", "value", "number"}, names.Company: {"name", "value"}, names.Email: {"value"},
	names.FirstName: {"value"}, names.LastName: {"value"},
}

// valueOf returns what scalar does, for an object the text in it that is meant for the field, and for a list its first text.
func valueOf(field string, v any) (any, *fault.Field) {
	switch v := v.(type) {
	case []any:
		if text := listed(field, v); text != nil {
			return text, nil
		}
	case map[string]any:
		if text := within(field, v); text != nil {
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
		if text != nil && obj["primary"] == true {
			return text
		}
		if first == nil {
			first = text
		}
	}
	return first
}

// within returns the text in an object that is meant for the field, nil if none.
func within(field string, obj map[string]any) any {
	if field == names.Name {
		if name := nameIn(obj); name != "" {
			return name
		}
	}
	called := slices.Clone(parts[field])
	for _, key := range slices.Sorted(maps.Keys(obj)) {
		if names.Of(key).Field == field {
			called = append(called, key)
		}
	}
	for _, key := range called {
		if text, _ := scalar(obj[key]); text != nil {
			return text
		}
	}
	return nil
}

// nameIn returns the name in an object, such as {"first": …, "last": …}.
func nameIn(obj map[string]any) string {
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
			if text, _ := scalar(obj[key]); text != nil && joined[i] == "" {
				joined[i] = text.(string)
			}
		}
	}
	whole, _ := scalar(obj[fieldName])
	text, _ := whole.(string)
	return names.Whole(text, joined)
}

var (
	addressShape = regexp.MustCompile(`^[^@\s]+@[^@\s]+\.[^@\s]+$`)
	numberShape  = regexp.MustCompile(`^\+?[0-9 ()./-]{7,}$`)
)

// shapeOf returns the field that a text looks like, which is not a name: an email address or a phone number, "" for other text.
func shapeOf(text string) string {
	switch {
	case addressShape.MatchString(text):
		return names.Email
	case numberShape.MatchString(text):
		return names.Phone
	}
	return ""
}
