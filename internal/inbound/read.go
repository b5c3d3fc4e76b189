package inbound

import (
	"errors"
	"slices"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact"
	"contactbase/internal/fault"
	"contactbase/internal/inbound/payload"
)

// readItem is an item as far as it can be read before its contact is known.
type readItem struct {
	payload.Item
	changes  contact.Changes // what to write; for another installation's event, set once its contact is known
	warnings []string        // about the changes
	invalid  fault.Fields    // why the changes cannot be written
}

// readOf checks the item's properties. Unknown ones are ignored with a warning. There may be tens of thousands, which are freed
// here.
func readOf(app core.App, item payload.Item) (readItem, error) {
	read := readItem{Item: item}
	if item.Err != nil || item.Action != payload.Upsert {
		read.Extra = nil
		return read, nil //nolint:nilerr // the item fails, the request continues
	}
	foreign, err := foreignRelations(app, item)
	if err != nil {
		return read, err
	}
	known, unknown, err := contact.CustomInput(app, item.Extra)
	if err != nil {
		return read, err
	}
	unknown = append(unknown, foreign...)
	if len(unknown) > 0 {
		read.Warnings = append(read.Warnings, payload.IgnoredWarning(unknown))
	}
	read.Extra = make(map[string]any, len(known))
	for name := range known {
		if !slices.Contains(foreign, name) {
			read.Extra[name] = item.Extra[name]
		}
	}
	if item.Chain != nil { // its changes depend on the contact
		return read, nil
	}
	return read, read.check(app)
}

// foreignRelations returns the names of the relations in another installation's event: their IDs belong to its records.
func foreignRelations(app core.App, item payload.Item) (names []string, err error) {
	if item.Chain == nil {
		return nil, nil
	}
	fields, err := contact.CustomFields(app)
	for _, field := range fields {
		if item.Extra[field.GetName()] != nil && field.Type() == core.FieldTypeRelation {
			names = append(names, field.GetName())
		}
	}
	return names, err
}

// check turns the item's properties into changes. An invalid phone number is only a warning: the contact matters more. It stores
// the errors of the properties in invalid; its error is a defect of this program.
func (r *readItem) check(app core.App) error {
	input, _, err := contact.CustomInput(app, r.Extra)
	if err != nil {
		return err
	}
	for name, value := range r.Fields {
		input[name] = value
	}
	var faults fault.Fields
	r.changes, err = contact.ParseChanges(app, input)
	if errors.As(err, &faults) && faults[payload.FieldPhone].Code != "" {
		r.warnings = append(r.warnings, "phone ignored: it "+faults[payload.FieldPhone].Message)
		delete(input, payload.FieldPhone)
		r.changes, err = contact.ParseChanges(app, input)
	}
	if errors.As(err, &faults) {
		r.invalid = faults
		return nil
	}
	return err
}
