package payload

import (
	"slices"
	"strings"
	"unicode/utf8"

	"contactbase/internal/contact"
)

// The properties of an item that mean more here than a value: what people are found by, and what is done with it.
const (
	fieldName       = "name"
	FieldEmail      = "email"
	FieldPhone      = "phone"
	FieldExternalID = "externalId"
	FieldID         = "id"
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

// FieldCalled returns the field of a contact that other systems call so, firstName or lastName for a half of the name, and ""
// where the name means nothing here.
func FieldCalled(name string) string {
	called := fold(strings.TrimSpace(name))
	for _, field := range aliases {
		if slices.Contains(field.names, called) {
			return field.field
		}
	}
	switch called {
	case foldedFirstName:
		return "firstName"
	case foldedLastName:
		return "lastName"
	}
	return ""
}
