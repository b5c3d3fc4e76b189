package inbound

import (
	"errors"
	"maps"
	"slices"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact"
	"contactbase/internal/fault"
	"contactbase/internal/inbound/payload"
)

// readItem is an item that was checked before its contact is known.
type readItem struct {
	payload.Item
	create, update write // what to write to a new contact, and to one that was found
}

// write is what to write to a contact.
type write struct {
	changes  contact.Changes
	warnings []string     // about the changes
	leftOut  fault.Fields // why values are not among the changes
	invalid  fault.Fields // why the changes cannot be written
}

// readOf checks the item's properties. Unknown ones are ignored with a warning. There may be tens of thousands,
// which are freed here.
func readOf(app core.App, item payload.Item) (readItem, error) {
	read := readItem{Item: item}
	if item.Err != nil || item.Ignored || item.Action == contact.Delete {
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
	if read.create, err = writeOf(app, read.Fields, read.Extra); err != nil || !item.IsEvent() {
		read.update = read.create
		return read, err
	}
	unchanged := func(name string, _ any) bool { return !slices.Contains(item.Changed, name) }
	fields, extra := maps.Clone(read.Fields), maps.Clone(read.Extra)
	maps.DeleteFunc(fields, unchanged)
	maps.DeleteFunc(extra, unchanged)
	read.update, err = writeOf(app, fields, extra)
	return read, err
}

// readPhone replaces a number that other programs write, such as a national one of a country, by the international one.
func readPhone(fields map[string]any, country string) {
	text, _ := fields[payload.FieldPhone].(string)
	if number, wrong := contact.ReadPhone(text, country); wrong == nil && number != "" {
		fields[payload.FieldPhone] = number
	}
}

// customNames returns the names of the fields that an admin has added.
func customNames(app core.App) (names []string, err error) {
	fields, err := contact.CustomFields(app)
	for _, field := range fields {
		names = append(names, field.GetName())
	}
	return names, err
}

// foreignRelations returns the names of the relations in another installation's event: their IDs belong to its records.
func foreignRelations(app core.App, item payload.Item) (names []string, err error) {
	if !item.IsEvent() {
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

// writeOf turns an item's properties into changes. Optional values that do not fit are left out with a warning: the
// contact matters more. The errors of the others are in the result; the other error is a defect of this program.
func writeOf(app core.App, fields, extra map[string]any) (w write, err error) {
	input, _, err := contact.CustomInput(app, extra)
	if err != nil {
		return w, err
	}
	maps.Copy(input, fields)
	var faults fault.Fields
	w.changes, err = contact.ParseChanges(app, input)
	if errors.As(err, &faults) {
		w.leaveOut(faults, input)
		w.changes, err = contact.ParseChanges(app, input)
	}
	if errors.As(err, &faults) {
		w.invalid, err = faults, nil
	}
	return w, err
}

// leaveOut removes the optional values that do not fit.
func (w *write) leaveOut(faults fault.Fields, input map[string]any) {
	w.leftOut = fault.Fields{}
	for _, name := range slices.Sorted(maps.Keys(faults)) {
		if contact.IsOptional(name) {
			w.leftOut[name] = faults[name]
			w.warnings = append(w.warnings, name+" ignored: it "+faults[name].Message)
			delete(input, name)
		}
	}
}
