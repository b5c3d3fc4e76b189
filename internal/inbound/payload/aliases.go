package payload

import (
	"slices"
	"strings"
	"unicode/utf8"

	"contactbase/internal/contact"
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

// aliases lists, for each field of a contact, the names that other systems use, folded (see fold). The field's own exact name takes
// precedence, then the first name with a value.
//
// "id" has no alias: other systems call their own ids "_id" and "ID", which would never be found here.
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

// The two parts of a name. They count if neither a name nor a full name has a value.
const (
	foldedFirstName = "firstname"
	foldedLastName  = "lastname"
)

// ignored are the read-only properties of a contact, which clients may send back.
var ignored = map[string]bool{"createdAt": true, "updatedAt": true}

var folder = strings.NewReplacer("_", "", "-", "", " ", "")

// fold makes "First_Name", "first-name", "First name" and "firstName" equal.
func fold(name string) string { return folder.Replace(strings.ToLower(name)) }

// folded are the names with a meaning, and the length of the longest.
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

// byFolded groups the names with a meaning by their folded form. An object may have tens of thousands of others, most of which their
// first letter rules out.
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
			case c >= utf8.RuneSelf: // a letter whose lower case is ASCII
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

// FieldCalled returns the field of a contact for another system's name: firstName or lastName for a part of the name, "" for an
// unknown name.
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
