package payload

import (
	"cmp"
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
	FieldExternalID = "externalId"
	FieldID         = "id"
	fieldAction     = "action"
)

// ignored are the read-only properties of a contact, which clients may send back.
var ignored = map[string]bool{"createdAt": true, "updatedAt": true}

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
	names.Name: {"full", "value"}, names.Phone: {"full", "value"}, names.Company: {"name", "value"}, names.Email: {"value"},
	names.FirstName: {"value"}, names.LastName: {"value"},
}

// valueOf returns what scalar does, and for an object the text in it that is meant for the field.
func valueOf(field string, v any) (any, *fault.Field) {
	obj, ok := v.(map[string]any)
	if !ok {
		return scalar(v)
	}
	if field == names.Name {
		if joined := nameIn(obj); joined != "" {
			return joined, nil
		}
	}
	for _, part := range parts[field] {
		if text, wrong := scalar(obj[part]); wrong == nil && text != nil {
			return text, nil
		}
	}
	return scalar(v)
}

// nameIn joins the halves of a name in an object, such as {"first": …, "last": …}.
func nameIn(obj map[string]any) string {
	var joined [3]string
	for i, half := range names.Halves {
		var called []string
		for key := range obj {
			if names.Of("name "+key).Field == half {
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
	return names.Join(joined)
}
