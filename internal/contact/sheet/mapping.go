package sheet

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact"
	"contactbase/internal/contact/names"
	"contactbase/internal/contact/written"
	"contactbase/internal/fault"
)

// ID is the target of a column with the ids of contacts.
const ID = contact.ID

// The times of a contact. An export writes them, and an import does not read them.
const (
	createdAt = "createdAt"
	updatedAt = "updatedAt"
)

// The columns that a report of refused rows has after those of the sheet.
const (
	ReasonColumn = "reason"
	RowColumn    = "row"
)

// ProblemColumn is the last column of a file with the rows that have problems. An import does not read it.
const ProblemColumn = "Problem"

// Mapping has the target of each column of a sheet: a field of a contact, the id, a part of a name, or "" for none.
// Several columns may have the same target: see Mapping.order.
type Mapping []string

// Suggestion is what an import makes of the headings of a file.
type Suggestion struct {
	Mapping
	Unknown  []string // headings that mean nothing here
	Warnings []string // about columns that are left out because of their values
}

// Suggest returns the targets of columns that have the name of a field, or a name that means it (see names.All). The
// id is mapped only in a sheet that has the columns of an export: elsewhere a column of that name has the ids of
// another system. sample are some rows: a column whose values cannot be those of its field is left out with a remark,
// and a column of addresses with any other heading is the email if no column is called so.
func Suggest(app core.App, columns []string, sample [][]string) (*Suggestion, error) {
	known, err := Targets(app)
	if err != nil {
		return nil, err
	}
	s := &Suggestion{Mapping: make(Mapping, len(columns)), Unknown: []string{}}
	isExport := slices.Contains(columns, createdAt) && slices.Contains(columns, updatedAt)
	written := []string{ID, createdAt, updatedAt, ""}
	if n := len(columns); n > 2 && columns[n-2] == ReasonColumn && columns[n-1] == RowColumn {
		written, sample = append(written, ReasonColumn, RowColumn), nil // of refused rows, whose values do not fit
	}
	problems := -1
	if n := len(columns) - 1; n > 0 && columns[n] == ProblemColumn {
		problems, sample = n, nil
	}
	meanings := names.All(columns)
	for i, column := range columns {
		target := cmp.Or(exactly(known, column), meanings[i].Field, calledLike(known, column))
		switch {
		case column == idProperty:
			target = ID
		case target == "" && names.IsPerson(column) && isMostly(contact.Email, i, sample):
			target = contact.Email
		case target == "" && names.IsPerson(column) && !hasName(known, columns, meanings) && areNames(i, sample):
			target = names.Name
		}
		offers := isOffered(columns, i)
		if offers {
			target = ownFieldOf(known, column)
		}
		switch {
		case i == problems:
		case target == "" && !offers && !slices.Contains(written, column):
			s.Unknown = append(s.Unknown, column)
		case target == ID && !isExport && column != idProperty:
		case !fits(target, i, sample):
			s.Warnings = append(s.Warnings, fmt.Sprintf(
				"the column %q is not imported: most of its values cannot be a value of %s", column, target,
			))
		case !isRepeatable(target) && slices.Contains(s.Mapping, target):
		default:
			s.Mapping[i] = target
		}
	}
	s.suggestAddresses(columns, sample)
	return s, nil
}

// isOffered reports whether a column has an offered property of an address book.
func isOffered(columns []string, at int) bool {
	return columns[0] == idProperty && slices.Contains(offered, columns[at])
}

// ownFieldOf returns the field that an admin has added for an offered property, "" if there is none.
func ownFieldOf(known []string, property string) string {
	called := map[string]string{
		"BDAY": "birthday birthdate dateOfBirth", "ADR": "address", "URL": "website homepage", "TITLE": "jobTitle",
		"CATEGORIES": "tags", "NOTE": "notes",
	}
	for name := range strings.FieldsSeq(property + " " + called[property]) {
		if target := calledLike(known, name); target != "" {
			return target
		}
	}
	return ""
}

// suggestAddresses makes the first unknown column of addresses the email, whatever its heading, if no column is it.
func (s *Suggestion) suggestAddresses(columns []string, sample [][]string) {
	if slices.Contains(s.Mapping, contact.Email) {
		return
	}
	for i, column := range columns {
		if slices.Contains(s.Unknown, column) && areAddresses(i, sample) {
			s.Mapping[i] = contact.Email
			s.Unknown = slices.DeleteFunc(s.Unknown, func(unknown string) bool { return unknown == column })
			return
		}
	}
}

// Choose sets the targets that a person has chosen, by the column's index and "" to skip it. A suggested column gives
// way to a chosen one.
func (s *Suggestion) Choose(columns []string, chosen map[int]string) {
	for i, target := range s.Mapping {
		for _, other := range chosen {
			if target != "" && target == other {
				s.Mapping[i] = ""
			}
		}
	}
	for i, target := range chosen {
		s.Mapping[i] = target
		s.Unknown = slices.DeleteFunc(s.Unknown, func(unknown string) bool { return unknown == columns[i] })
	}
}

// Remark is what a person should know about the columns of a file.
type Remark struct {
	Text      string `json:"text"`
	IsWarning bool   `json:"warning"` // whether values of the file are left out or may be wrong
	// the field that a column could be mapped to, "" if the remark suggests none
	Field  string `json:"field,omitempty"`
	Column string `json:"column,omitempty"`
}

// Remarks returns what a person should know about a mapping: columns with the IDs of another system that could be the
// external ID, and which columns have the same target, in the order in which they count.
func (m Mapping) Remarks(columns []string) (remarks []Remark) {
	for i, column := range columns {
		if m[i] == "" && isOffered(columns, i) {
			remarks = append(remarks, Remark{IsWarning: true, Column: column,
				Text: fmt.Sprintf("the property %s of the cards is not imported: map it to a custom field", column)})
		}
		if m[i] == "" && names.IsID(column) && !slices.Contains(m, contact.ExternalID) && !slices.Contains(m, ID) {
			remarks = append(remarks, Remark{Field: contact.ExternalID, Column: column, Text: fmt.Sprintf(
				"the column %q has IDs of another system: map it to externalId to find the same contacts by it later", column,
			)})
		}
	}
	places := map[string][]string{}
	for _, i := range m.order(columns) {
		places[m[i]] = append(places[m[i]], strconv.Quote(columns[i]))
	}
	for _, target := range slices.Sorted(maps.Keys(places)) {
		if target != "" && len(places[target]) > 1 {
			remarks = append(remarks, Remark{
				Text: fmt.Sprintf("%s is the first value of the columns %s", target, strings.Join(places[target], ", ")),
			})
		}
	}
	return remarks
}

// order returns the indexes of the columns in the order in which they count: a field's own name first, then
// by their meaning.
func (m Mapping) order(columns []string) []int {
	meanings, order := names.All(columns), make([]int, len(m))
	for i := range m {
		order[i] = i
		if columns[i] == m[i] {
			meanings[i].Rank = -1
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(meanings[a].Rank, meanings[b].Rank) })
	return order
}

// isRepeatable reports whether several columns can have a target: the shipped fields, and the parts of a name.
func isRepeatable(target string) bool {
	return contact.FieldNamed(target) != nil || names.IsHalf(target)
}

// looksLike tells what every value of a field has.
var looksLike = map[string]func(value string) bool{
	contact.Email: func(value string) bool { return strings.Contains(value, "@") },
	contact.Phone: func(value string) bool {
		digits := 0
		for _, c := range value {
			if unicode.IsDigit(c) {
				digits++
			}
		}
		return digits >= 3
	},
}

// fits reports whether at least half of the values in a column look like those of a field.
func fits(target string, column int, sample [][]string) bool {
	if looksLike[target] == nil {
		return true
	}
	like, values := count(looksLike[target], column, sample)
	return 2*like >= values
}

// isMostly reports whether most values in a column look like those of a field, and there are some.
func isMostly(target string, column int, sample [][]string) bool {
	like, values := count(looksLike[target], column, sample)
	return 2*like > values
}

// hasName reports whether a column has names, or parts of them.
func hasName(known, columns []string, meanings []names.Meaning) bool {
	for i, column := range columns {
		if target := cmp.Or(exactly(known, column), meanings[i].Field); target == names.Name || names.IsHalf(target) {
			return true
		}
	}
	return false
}

// areNames reports whether most values in a column are different names: two words or more, without digits. Those of
// a category repeat.
func areNames(column int, sample [][]string) bool {
	different := map[string]bool{}
	_, values := count(func(value string) bool {
		if !strings.ContainsAny(value, "@0123456789") && len(strings.Fields(value)) > 1 {
			different[value] = true
		}
		return false
	}, column, sample)
	return 2*len(different) > values
}

// areAddresses reports whether most values in a column are an email address and nothing else.
func areAddresses(column int, sample [][]string) bool {
	like, values := count(func(value string) bool {
		read := contact.ReadEmail(value)
		return read.Wrong == nil && read.Value != "" && read.LeftOut == ""
	}, column, sample)
	return 2*like > values
}

// count returns how many values a column has, and how many of them are like some others.
func count(isLike func(value string) bool, column int, sample [][]string) (like, values int) {
	for _, cells := range sample {
		if column >= len(cells) || strings.TrimSpace(cells[column]) == "" || written.IsNoValue(cells[column]) {
			continue
		}
		values++
		if isLike(cells[column]) {
			like++
		}
	}
	return like, values
}

// Known returns whether a heading is known: it means a field, is that of an export, or one of others.
func Known(app core.App, others []string) (func(heading string) bool, error) {
	known, err := Targets(app)
	known = append(known, createdAt, updatedAt)
	return func(heading string) bool {
		return heading != "" && (names.Of(heading).Field != "" || slices.Contains(known, heading) ||
			slices.Contains(others, heading) || calledLike(known, heading) != "")
	}, err
}

func exactly(targets []string, column string) string {
	if slices.Contains(targets, column) {
		return column
	}
	return ""
}

// calledLike returns the target whose name differs from the column's only in case and punctuation, or "" if there is
// none or more than one.
func calledLike(targets []string, column string) (found string) {
	for _, target := range targets {
		if target == ID || names.Fold(target) != names.Fold(column) {
			continue
		}
		if found != "" {
			return ""
		}
		found = target
	}
	return found
}

// Value returns what the cells of a row have for a field, in the columns of this mapping; of a name in
// parts, all of them.
func (m Mapping) Value(field string, cells []string) string {
	var values []string
	for i, target := range m {
		isHalf := field == names.Name && names.IsHalf(target)
		if (target == field || isHalf) && cells[i] != "" {
			values = append(values, cells[i])
		}
	}
	return strings.Join(values, " ")
}

// Targets returns the names of everything that a column can be mapped to: the id, the fields of a contact, the parts
// of a name, and the custom fields.
func Targets(app core.App) ([]string, error) {
	targets := []string{ID}
	for _, field := range contact.Fields {
		targets = append(targets, field.Name)
	}
	targets = append(targets, names.Halves[:]...)
	custom, err := contact.CustomFields(app)
	for _, field := range custom {
		if !slices.Contains(targets, field.GetName()) {
			targets = append(targets, field.GetName())
		}
	}
	return targets, err
}

// Ignored returns the columns without a target.
func (m Mapping) Ignored(columns []string) []string {
	ignored := []string{}
	for i, column := range columns {
		if m[i] == "" {
			ignored = append(ignored, column)
		}
	}
	return ignored
}

// check checks that the mapping is valid for a sheet with that many columns. The error is a *fault.Error.
func (m Mapping) check(app core.App, columns int) error {
	known, err := Targets(app)
	if err != nil {
		return err
	}
	if len(m) != columns {
		return invalidMapping(fmt.Sprintf("must have one entry for each of the %d columns", columns))
	}
	if imported := len(m) - len(m.Ignored(make([]string, columns))); imported > maxImported {
		return invalidMapping(fmt.Sprintf("has fields for %d columns; at most %d can be imported", imported, maxImported))
	}
	for i, target := range m {
		if target == "" {
			continue
		}
		if !slices.Contains(known, target) {
			return invalidMapping(fmt.Sprintf("names %q, which is not a field of a contact", target))
		}
		if slices.Contains(m[:i], target) && !isRepeatable(target) {
			return invalidMapping(fmt.Sprintf("has two columns for %s", target))
		}
	}
	return nil
}

func invalidMapping(message string) error {
	return fault.InvalidField("mapping", fault.CodeInvalidValue, message)
}
