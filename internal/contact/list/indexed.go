package list

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/dbutils"

	"contactbase/internal/contact"
	"contactbase/internal/contact/custom"
	"contactbase/internal/fault"
	"contactbase/internal/wire"
)

// FilterField is a field of contacts that lists can be filtered by once an administrator has added an index
// on (tenant, field).
type FilterField struct {
	Name  string
	Index string // the name of the index, "" for none

	field core.Field
	rank  int
}

// FilterFields returns these fields: the company and the custom fields of suitable types, except those with the
// name of a parameter.
func FilterFields(app core.App) (fields []FilterField, err error) {
	own, err := contact.CustomFields(app)
	if err != nil {
		return nil, err
	}
	collection, err := app.FindCachedCollectionByNameOrId(contact.CollectionName)
	if err != nil {
		return nil, fmt.Errorf("finding the collection of contacts: %w", err)
	}
	indexes := filterIndexes(collection)
	for _, field := range slices.Concat(shippedFilters(collection), own) {
		name := field.GetName()
		rank, ok := custom.FilterRank(field)
		if ok && filters[name] == nil && pages[name] == nil {
			fields = append(fields, FilterField{name, indexes[name], field, rank})
		}
	}
	return fields, nil
}

func shippedFilters(collection *core.Collection) (fields []core.Field) {
	for _, field := range contact.Fields {
		if field.Unindexed {
			fields = append(fields, collection.Fields.GetByName(field.Name))
		}
	}
	return fields
}

// filterIndexes returns the names of the indexes on (tenant, field), by the names of the fields. Further
// columns do not matter.
func filterIndexes(collection *core.Collection) map[string]string {
	found := map[string]string{}
	for _, statement := range collection.Indexes {
		index := dbutils.ParseIndex(statement)
		if len(index.Columns) < 2 || index.Where != "" {
			continue
		}
		owner, field := index.Columns[0], index.Columns[1]
		if owner.Name == "tenant" && owner.Collate == "" && field.Collate == "" && found[field.Name] == "" {
			found[field.Name] = index.IndexName
		}
	}
	return found
}

// Indexed is a value that an indexed field must have.
type Indexed struct {
	Field string
	Index string
	Value any // as stored

	rank int
}

// withFields returns the filters, including those of the given parameters that are named like a filter field.
func withFields(app core.App, given url.Values) (wire.Parameters[Filter], error) {
	known := filters
	for name := range given {
		if known[name] != nil {
			continue
		}
		fields, err := FilterFields(app)
		if err != nil {
			return nil, err
		}
		known = maps.Clone(known)
		for _, field := range fields {
			known[field.Name] = field.read
		}
		break
	}
	return known, nil
}

// read reads the parameter with the field's name. The result is nil if it is valid.
func (f FilterField) read(into *Filter, s string) (wrong *fault.Field) {
	if f.Index == "" {
		return needsIndex(f.Name)
	}
	indexed := Indexed{Field: f.Name, Index: f.Index, rank: f.rank}
	if shipped := contact.FieldNamed(f.Name); shipped != nil {
		indexed.Value, wrong = shipped.Filter(s)
	} else {
		indexed.Value, wrong = custom.FilterValue(f.field, s)
	}
	into.Indexed = append(into.Indexed, indexed)
	return wrong
}

func needsIndex(field string) *fault.Field {
	return &fault.Field{Code: fault.CodeInvalidValue, Message: "needs an index, " +
		"which an administrator adds with \"contactbase contact index " + field +
		"\", or in the dashboard with Import and export → API filters"}
}

// withoutIndex returns the error of a query whose index was removed, or not committed, while the query was parsed, as
// an error for the client. It returns other errors unchanged. SQLite has the same code for all errors in a statement,
// so that only the text distinguishes them.
func (q *Query) withoutIndex(err error) error {
	if len(q.Indexed) > 0 && (strings.Contains(err.Error(), "no such index") ||
		strings.Contains(err.Error(), "no such column")) {
		field := q.Indexed[0].Field
		wrong := needsIndex(field)
		return fault.InvalidParameters(fault.Fields{field: *wrong})
	}
	return err
}
