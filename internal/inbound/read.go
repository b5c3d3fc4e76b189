package inbound

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact"
	"contactbase/internal/contact/custom"
	"contactbase/internal/contact/written"
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
func readOf(app core.App, item payload.Item, country string) (readItem, error) {
	read := readItem{Item: item}
	if item.Err != nil || item.Ignored || item.Action == contact.Delete {
		read.Extra = nil
		return read, nil //nolint:nilerr // the item fails, the request continues
	}
	foreign, err := foreignRelations(app, item)
	if err != nil {
		return read, err
	}
	known, unknown, err := contact.CustomNames(app, maps.Keys(item.Extra))
	if err != nil {
		return read, err
	}
	unknown = append(unknown, foreign...)
	if len(unknown) > 0 {
		read.Warnings = append(read.Warnings, payload.IgnoredWarning(unknown))
	}
	read.Extra = make(map[string]any, len(known))
	for _, name := range known {
		if !slices.Contains(foreign, name) {
			read.Extra[name] = item.Extra[name]
		}
	}
	if !item.IsEvent() {
		read.update, err = writeOf(app, read.Fields, read.Extra, custom.StyleOf(country))
		read.create = read.update.named()
		return read, err
	}
	if read.create, err = writeOf(app, read.Fields, read.Extra, custom.Exact); err != nil {
		return read, err
	}
	unchanged := func(name string, _ any) bool { return !slices.Contains(item.Changed, name) }
	fields, extra := maps.Clone(read.Fields), maps.Clone(read.Extra)
	maps.DeleteFunc(fields, unchanged)
	maps.DeleteFunc(extra, unchanged)
	read.update, err = writeOf(app, fields, extra, custom.Exact)
	return read, err
}

// named returns what to write to a new contact: the company as its name, if only that is known.
func (w write) named() write {
	if changes := contact.NamedByCompany(w.changes); changes != nil {
		w.changes, w.warnings = changes, append(slices.Clip(w.warnings), contact.CompanyIsName)
	}
	return w
}

// readPhone replaces a number that other programs write, such as a national one, by the international one. It belongs
// to the country beside it or, failing that, to that of the tenant.
func readPhone(item *payload.Item, country string) {
	text, _ := item.Fields[payload.FieldPhone].(string)
	read := contact.ReadPhone(text, append(item.Countries, country)...)
	if read.Wrong == nil && read.Value != "" {
		item.Fields[payload.FieldPhone] = read.Value
		item.Warnings = append(item.Warnings, read.Warnings()...)
	}
}

// customFields returns the fields that an admin has added.
func customFields(app core.App) (own []payload.Own, err error) {
	fields, err := contact.CustomFields(app)
	for _, field := range fields {
		own = append(own, payload.Own{
			Name: field.GetName(), IsNoValue: func(text string) bool { return custom.IsNoValue(field, text) },
		})
	}
	return own, err
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
func writeOf(app core.App, fields, extra map[string]any, style custom.Style) (w write, err error) {
	input, left, err := contact.CustomInput(app, extra, style)
	if err != nil {
		return w, err
	}
	for _, one := range left {
		w.ignore(one.Field, one.Value, one.Wrong)
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
	for _, name := range slices.Sorted(maps.Keys(faults)) {
		if contact.IsOptional(name) {
			w.ignore(name, fmt.Sprint(input[name]), faults[name])
			delete(input, name)
		}
	}
}

// ignore warns about a value that does not fit and is left out.
func (w *write) ignore(name, value string, wrong fault.Field) {
	if w.leftOut == nil {
		w.leftOut = fault.Fields{}
	}
	w.leftOut[name] = wrong
	w.warnings = append(w.warnings, name+" ignored: "+written.Quote(value)+" "+wrong.Message)
}
