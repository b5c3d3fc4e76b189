package inbound

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cast"

	"contactbase/internal/contact"
	"contactbase/internal/fault"
)

// The properties of an item that mean more here than a value: what people are found by, and what is done with it.
const (
	fieldName       = "name"
	fieldEmail      = "email"
	fieldPhone      = "phone"
	fieldExternalID = "externalId"
	fieldID         = "id"
	fieldAction     = "action"
)

// aliases lists, for each field of a contact, the names under which other systems send it, folded (see fold). Where
// several are sent the first of them that has a value counts, and before all of them the field's own exact name.
//
// "id" has no alias at all: "_id" and "ID" are what other systems call their own ids, which would never be found
// here.
var aliases = func() (all []fieldAliases) {
	for _, field := range contact.Fields {
		names := []string{fold(field.Name)}
		for _, alias := range field.Aliases {
			names = append(names, fold(alias))
		}
		all = append(all, fieldAliases{field.Name, names})
	}
	return all
}()

type fieldAliases struct {
	field string
	names []string
}

// The two halves of a name; they count where neither a name nor a full name has a value.
const (
	foldedFirstName = "firstname"
	foldedLastName  = "lastname"
)

// ignored are the read-only properties of a contact: sent back as they were read, they are no news.
var ignored = map[string]bool{"createdAt": true, "updatedAt": true}

var folder = strings.NewReplacer("_", "", "-", "", " ", "")

// fold makes "First_Name", "first-name", "First name" and "firstName" the same.
func fold(name string) string { return folder.Replace(strings.ToLower(name)) }

// folded are the names that mean something, and the length of the longest.
var folded, longestFolded = func() (map[string]bool, int) {
	all, longest := map[string]bool{foldedFirstName: true, foldedLastName: true, fieldAction: true}, 0
	for _, a := range aliases {
		for _, name := range a.names {
			all[name] = true
		}
	}
	for name := range all {
		longest = max(longest, len(name))
	}
	return all, longest
}()

// byFolded groups the names that mean something by what they fold to. An object may have tens of thousands of others,
// most of which their first letters tell.
func byFolded(obj map[string]any) map[string][]string {
	groups := map[string][]string{}
	buffer := make([]byte, 0, longestFolded)
	for name := range obj {
		key := buffer[:0]
		for i := 0; i < len(name) && len(key) <= longestFolded; i++ {
			switch c := name[i]; {
			case c == '_' || c == '-' || c == ' ':
			case 'A' <= c && c <= 'Z':
				key = append(key, c+'a'-'A')
			case c >= utf8.RuneSelf: // a letter that has an ASCII one as its lower case
				key = append(key[:0], fold(name)...)
				i = len(name)
			default:
				key = append(key, c)
			}
		}
		if folded[string(key)] {
			groups[string(key)] = append(groups[string(key)], name)
		}
	}
	for _, names := range groups {
		slices.Sort(names)
	}
	return groups
}

// plainItem reads an object by the common names.
//
//   - A value is a string, a number (its digits as sent) or a boolean; null and an empty string mean no value.
//   - No value under every name of a field that was sent clears the field; an empty first and last name do not
//     clear the name.
//   - A list or an object under a field's own name fails the item; under an alias it is ignored with a warning,
//     since "organization" is an object with many senders.
func plainItem(obj map[string]any) Item {
	it := Item{Fields: map[string]any{}, Extra: make(map[string]any, len(obj)), Action: Upsert}
	byFold := byFolded(obj)
	var dropped []string
	used := map[string]bool{}

	for _, a := range aliases {
		value, sent := any(nil), false
		for _, name := range candidates(obj, byFold, a.field, a.names) {
			used[name] = true
			text, err := scalar(obj[name])
			if err != nil && fold(name) == fold(a.field) {
				it.fail(err, a.field)
				return it
			}
			if err != nil {
				dropped = append(dropped, name)
				continue
			}
			sent = true
			if value == nil {
				value = text
			}
		}
		if sent {
			it.Fields[a.field] = value
		}
	}
	it.joinName(obj, byFold, used, &dropped)

	if v, ok := obj[fieldID]; ok {
		used[fieldID] = true
		id, err := scalar(v)
		if err != nil {
			it.fail(err, fieldID)
			return it
		}
		it.ID = stringOrNil(id)
	}
	if name, ok := firstOf(obj, byFold, fieldAction); ok {
		used[name] = true
		text, err := scalar(obj[name])
		if err != nil {
			it.fail(err, fieldAction)
			return it
		}
		it.Action = actionOf(text)
	}
	it.takeExtra(obj, used, dropped)
	it.ExternalID = stringOrNil(it.Fields[fieldExternalID])
	return it
}

// joinName fills in the name from its halves.
func (it *Item) joinName(obj map[string]any, byFold map[string][]string, used map[string]bool, dropped *[]string) {
	var parts []string
	for _, half := range []string{foldedFirstName, foldedLastName} {
		part := ""
		for _, name := range byFold[half] {
			used[name] = true
			v, err := scalar(obj[name])
			if err != nil {
				*dropped = append(*dropped, name)
			} else if s, ok := v.(string); ok && part == "" {
				part = s
			}
		}
		if part != "" {
			parts = append(parts, part)
		}
	}
	if it.Fields[fieldName] == nil && len(parts) > 0 {
		it.Fields[fieldName] = strings.Join(parts, " ")
	}
}

// takeExtra keeps what has no meaning here under the names that were sent.
func (it *Item) takeExtra(obj map[string]any, used map[string]bool, dropped []string) {
	for name, value := range obj {
		if used[name] || ignored[name] {
			continue
		}
		if v, err := scalar(value); err == nil {
			it.Extra[name] = v
		} else {
			dropped = append(dropped, name)
		}
	}
	if len(dropped) > 0 {
		slices.Sort(dropped)
		it.Warnings = append(it.Warnings, IgnoredWarning(dropped))
	}
}

// fail refuses the item for what is wrong with one of its fields.
func (it *Item) fail(wrong *fault.Field, field string) {
	it.Err = &fault.Error{Code: fault.ValidationFailed, Message: wrong.Message, Fields: fault.Fields{field: *wrong}}
}

// candidates lists the sent names of a field, the one that counts most first.
func candidates(obj map[string]any, byFold map[string][]string, field string, names []string) []string {
	var out []string
	if _, ok := obj[field]; ok {
		out = append(out, field)
	}
	for _, folded := range names {
		for _, name := range byFold[folded] {
			if name != field {
				out = append(out, name)
			}
		}
	}
	return out
}

// firstOf finds a property by its own name or, failing that, by a name that folds to it.
func firstOf(obj map[string]any, byFold map[string][]string, name string) (string, bool) {
	if found := candidates(obj, byFold, name, []string{name}); len(found) > 0 {
		return found[0], true
	}
	return "", false
}

// scalar gives the trimmed text of a value, or nil for no value, or what is wrong with it.
func scalar(v any) (any, *fault.Field) {
	switch v := v.(type) {
	case nil:
		return nil, nil
	case string:
		return textOf(v)
	case bool, json.Number:
		return textOf(cast.ToString(v))
	}
	return nil, &fault.Field{Code: contact.CodeInvalidType, Message: "must be text, a number, true, false or null"}
}

func textOf(s string) (any, *fault.Field) {
	s = strings.TrimSpace(s)
	if len(s) > maxValue {
		return nil, &fault.Field{Code: contact.CodeTooLong, Message: "must have at most " + strconv.Itoa(maxValue) + " bytes"}
	}
	if s == "" {
		return nil, nil
	}
	return s, nil
}

func stringOrNil(v any) *string {
	if s, ok := v.(string); ok {
		return &s
	}
	return nil
}

// actionOf understands the two actions in any case; other text stays as it is, cut to a length for a message.
func actionOf(v any) Action {
	text, ok := v.(string)
	if !ok {
		return Upsert
	}
	if a := Action(strings.ToLower(text)); a == Upsert || a == Delete {
		return a
	}
	return Action(shorten(text))
}

// IgnoredWarning is the sentence for properties that mean nothing here.
func IgnoredWarning(names []string) string { return "ignored: " + some(names) }

// some lists names for a sentence, as many as belong into one: a sender may post thousands of them with every call.
func some(names []string) string {
	const most, mostBytes = 10, 250
	var b strings.Builder
	for i, name := range names {
		quoted := strconv.Quote(shorten(name))
		if i == most || i > 0 && b.Len()+len(quoted) > mostBytes {
			return b.String() + " … and " + strconv.Itoa(len(names)-i) + " more"
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(quoted)
	}
	return b.String()
}

// shorten cuts a sender's text for a message, at a character's boundary.
func shorten(s string) string {
	const most = 64
	if len(s) <= most {
		return s
	}
	cut := most
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "…"
}
