package sheet

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact"
	"contactbase/internal/fault"
	"contactbase/internal/inbound/payload"
)

// The two halves of a name, which a column may hold beside the fields of a contact.
const (
	FirstName = "firstName"
	LastName  = "lastName"
)

// Mapping has, for each column of a sheet, the field of a contact that it holds, or one of the halves of a name; "" for none.
type Mapping []string

// Suggest returns the mapping of columns that are called as inbound webhooks know the fields, or as the admin's own fields are called.
// A field has one column, the first.
func Suggest(app core.App, columns []string) (Mapping, error) {
	known, err := Targets(app)
	if err != nil {
		return nil, err
	}
	mapping := make(Mapping, len(columns))
	for i, column := range columns {
		target := payload.FieldCalled(column)
		if target == "" && slices.Contains(known, column) {
			target = column
		}
		if target != "" && !slices.Contains(mapping, target) {
			mapping[i] = target
		}
	}
	return mapping, nil
}

// Targets returns what a column can be mapped to: the fields of a contact, the halves of a name, and the admin's own fields.
func Targets(app core.App) ([]string, error) {
	var names []string
	for _, field := range contact.Fields {
		names = append(names, field.Name)
	}
	custom, err := contact.CustomNames(app)
	return slices.Concat(names, []string{FirstName, LastName}, custom), err
}

// Check checks that the mapping is one of a sheet with that many columns, by which its contacts can be matched. The error is a
// *fault.Error.
func (m Mapping) Check(app core.App, columns int, match string) error {
	known, err := Targets(app)
	if err != nil {
		return err
	}
	if len(m) != columns {
		return invalidMapping(fmt.Sprintf("must have one entry for each of the %d columns", columns))
	}
	for i, target := range m {
		if target == "" {
			continue
		}
		if !slices.Contains(known, target) {
			return invalidMapping(fmt.Sprintf("names %q, which is not a field of a contact", target))
		}
		if slices.Contains(m[:i], target) {
			return invalidMapping(fmt.Sprintf("has two columns for %s", target))
		}
	}
	if match != payload.FieldExternalID && match != payload.FieldEmail {
		return fault.InvalidField("match", fault.CodeInvalidValue, "must be externalId or email")
	}
	if !slices.Contains(m, match) {
		return fault.InvalidField("match", fault.CodeInvalidValue, "must be a field that a column is mapped to")
	}
	return nil
}

func invalidMapping(message string) error {
	return fault.InvalidField("mapping", fault.CodeInvalidValue, message)
}

// Item returns what a row asks for: to create a contact, or to change the one with the same external id or e-mail address. An empty
// cell changes nothing. What is wrong with the row is in the item.
func (m Mapping) Item(app core.App, cells []string, match string) (contact.Item, error) {
	item := contact.Item{Action: contact.ActionUpsert, ByEmail: match == payload.FieldEmail}
	input, custom := map[string]any{}, map[string]any{}
	var halves []string
	for i, target := range m {
		switch {
		case target == "" || cells[i] == "":
		case target == FirstName || target == LastName:
			halves = append(halves, cells[i])
		case contact.FieldNamed(target) != nil:
			input[target] = cells[i]
		default:
			custom[target] = cells[i]
		}
	}
	if len(halves) > 0 && input["name"] == nil {
		if first, last := slices.Index(m, FirstName), slices.Index(m, LastName); last >= 0 && last < first {
			slices.Reverse(halves)
		}
		input["name"] = strings.Join(halves, " ")
	}
	if len(custom) > 0 {
		values, _, err := contact.CustomInput(app, custom)
		if err != nil {
			return item, err
		}
		for name, value := range values {
			input[name] = value
		}
	}
	var wrong fault.Fields
	var err error
	item.Changes, err = contact.ParseChanges(app, input)
	switch {
	case errors.As(err, &wrong):
		item.Wrong = fault.InvalidContact(wrong)
	case err != nil:
		return item, err
	default:
		if key, _ := item.Changes[match].(string); key == "" {
			item.Wrong = fault.InvalidContact(fault.Fields{match: {Code: contact.CodeRequired, Message: "must be there, because it finds the contact"}})
		}
	}
	return item, nil
}
