package sheet

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact"
	"contactbase/internal/fault"
	"contactbase/internal/inbound/payload"
)

// A column may hold these beside the fields of a contact: the contact's id, and the two halves of a name.
const (
	ID        = "id"
	FirstName = "firstName"
	LastName  = "lastName"
)

// The times of a contact. An export writes them, and an import does not read them.
const (
	createdAt = "createdAt"
	updatedAt = "updatedAt"
)

// Mapping has the target of each column of a sheet: a field of a contact, the id, one of the halves of a name, or "" for none.
type Mapping []string

// Suggest returns a mapping of columns that have the name of a field, or a common name of it in English, German, French or Spanish. A field gets
// the first such column. The id is mapped only in a sheet that has the columns of an export: elsewhere a column of that name has the ids of
// another system.
func Suggest(app core.App, columns []string) (Mapping, error) {
	known, err := Targets(app)
	if err != nil {
		return nil, err
	}
	mapping := make(Mapping, len(columns))
	take := func(i int, target string) {
		if mapping[i] == "" && target != "" && !slices.Contains(mapping, target) {
			mapping[i] = target
		}
	}
	isExport := slices.Contains(columns, createdAt) && slices.Contains(columns, updatedAt)
	for i, column := range columns {
		if slices.Contains(known, column) && (column != ID || isExport) {
			take(i, column)
		}
	}
	for i, target := range targets(columns) {
		take(i, target)
	}
	for i, column := range columns {
		if column != ID {
			take(i, calledLike(known, column))
		}
	}
	return mapping, nil
}

// Complete returns the mapping of the columns that has the given targets, by the column's index and "" to skip it, and for the others what
// Suggest returns. unknown are the columns that are neither given nor recognized. Only the match id, or "" for the default one, maps a
// recognized column to the id.
func Complete(app core.App, columns []string, given map[int]string, match string) (mapping Mapping, unknown []string, err error) {
	suggested, err := Suggest(app, columns)
	if err != nil {
		return nil, nil, err
	}
	mapping = make(Mapping, len(columns))
	for i, target := range given {
		mapping[i] = target
	}
	for i, target := range suggested {
		if _, some := given[i]; !some && !slices.Contains(mapping, target) {
			mapping[i] = target
		}
	}
	decided := slices.Clone(mapping)
	for i := range given {
		decided[i] = columns[i]
	}
	unknown = decided.Unknown(columns)
	if i := slices.Index(mapping, ID); i >= 0 && match != "" && match != ID && given[i] == "" {
		mapping[i] = ""
	}
	return mapping, unknown, nil
}

// calledLike returns the target whose name differs from the column's only in case and punctuation, or "" if there is none or more than one.
func calledLike(targets []string, column string) (found string) {
	for _, target := range targets {
		if target == ID || fold(target) != fold(column) {
			continue
		}
		if found != "" {
			return ""
		}
		found = target
	}
	return found
}

// Value returns what the cells of a row have for a field; of a name in two halves, both.
func (m Mapping) Value(field string, cells []string) string {
	var values []string
	for i, target := range m {
		isHalf := field == "name" && (target == FirstName || target == LastName)
		if (target == field || isHalf) && cells[i] != "" {
			values = append(values, cells[i])
		}
	}
	return strings.Join(values, " ")
}

// Targets returns the names of everything that a column can be mapped to: the id, the fields of a contact, the halves of a name, and the custom
// fields.
func Targets(app core.App) ([]string, error) {
	names := []string{ID}
	for _, field := range contact.Fields {
		names = append(names, field.Name)
	}
	names = append(names, FirstName, LastName)
	custom, err := contact.CustomFields(app)
	for _, field := range custom {
		if !slices.Contains(names, field.GetName()) {
			names = append(names, field.GetName())
		}
	}
	return names, err
}

// DefaultMatch returns the field by which contacts are found by default: the first of id, externalId and email that has a column.
func (m Mapping) DefaultMatch() string {
	for _, match := range []string{ID, payload.FieldExternalID} {
		if slices.Contains(m, match) {
			return match
		}
	}
	return payload.FieldEmail
}

// The columns that a report of refused rows has after those of the sheet.
const (
	Reason = "reason"
	Row    = "row"
)

// Unknown returns the columns that the mapping leaves out, without those that the program itself writes, such as the times of a contact.
func (m Mapping) Unknown(columns []string) []string {
	unknown, written := []string{}, []string{ID, createdAt, updatedAt}
	if n := len(columns); n > 2 && columns[n-2] == Reason && columns[n-1] == Row {
		columns = columns[:n-2]
	}
	for i, column := range columns {
		if m[i] == "" && !slices.Contains(written, column) {
			unknown = append(unknown, column)
		}
	}
	return unknown
}

// Check checks that the mapping is valid for a sheet with that many columns, and that it has a column for the match. The error is a
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
	if match != ID && match != payload.FieldExternalID && match != payload.FieldEmail {
		return fault.InvalidField("match", fault.CodeInvalidValue, "must be id, externalId or email")
	}
	if !slices.Contains(m, match) {
		return fault.InvalidField("match", fault.CodeInvalidValue, "must be a field that a column is mapped to")
	}
	return nil
}

func invalidMapping(message string) error {
	return fault.InvalidField("mapping", fault.CodeInvalidValue, message)
}
