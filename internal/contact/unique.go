package contact

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	validation "github.com/pocketbase/ozzo-validation/v4"
	"github.com/pocketbase/pocketbase/core/validators"
	"github.com/pocketbase/pocketbase/tools/dbutils"

	"contactbase/internal/contact/custom"
	"contactbase/internal/fault"
	"contactbase/internal/sqlite"
)

// refused returns the error of a unique index, which an admin may have added, as a fault.Fields.
func (s *schema) refused(err error) error {
	if names := s.notUnique(err); len(names) > 0 {
		return takenBy(names)
	}
	return fmt.Errorf("saving a contact: %w", err)
}

// takenBy returns the errors in the fields of a unique index in which another contact has the same key.
func takenBy(names []string) fault.Fields {
	if slices.Contains(names, ExternalID) {
		return errExternalIDTaken
	}
	faults := fault.Fields{}
	for _, name := range names {
		faults[name] = fault.Field{Code: fault.CodeInvalidType, Message: "belongs to another contact already"}
	}
	return faults
}

// notUnique returns the fields that a unique index refuses, without the tenant, which is a part of the index. SQLite
// names the columns, or an index with expressions, only in the text of the error, which PocketBase reads as well.
func (s *schema) notUnique(err error) (names []string) {
	var faults validation.Errors
	errors.As(validators.NormalizeUniqueIndexError(err, CollectionName, s.collection.Fields.FieldNames()), &faults)
	names = slices.Collect(maps.Keys(faults))
	for _, definition := range s.collection.Indexes {
		index := dbutils.ParseIndex(definition)
		if strings.Contains(err.Error(), "UNIQUE constraint failed: index '"+index.IndexName+"'") {
			names = append(names, s.mentioned(columnsOf(index)...)...)
		}
	}
	return slices.DeleteFunc(names, func(name string) bool { return name == "tenant" })
}

func columnsOf(index dbutils.Index) []string {
	columns := make([]string, len(index.Columns))
	for i, column := range index.Columns {
		columns[i] = column.Name
	}
	return columns
}

// mentioned returns the fields whose names are words of SQL expressions.
func (s *schema) mentioned(expressions ...string) []string {
	words := strings.FieldsFunc(strings.ToLower(strings.Join(expressions, " ")), func(r rune) bool {
		return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
	return slices.DeleteFunc(s.collection.Fields.FieldNames(), func(name string) bool {
		return !slices.Contains(words, strings.ToLower(name))
	})
}

var errExternalIDTaken = fault.Fields{
	ExternalID: {Code: fault.CodeDuplicateExternalID, Message: "belongs to another contact already"},
}

// shippedIndex is the unique index of every installation, on the external id.
const shippedIndex = "idx_contacts_externalId"

// uniqueIndex is a unique index of an admin's whose columns are fields. The database alone checks those
// with expressions.
type uniqueIndex struct {
	columns    []string
	collations []string // of the columns, in upper case
	args       []string // the columns, and what else its condition mentions

	// holderSQL returns the id of the stored contact that has the values of args in the index, "" for none. It
	// returns no row if the index leaves these values out.
	holderSQL string
}

func (s *schema) uniqueIndexes() (indexes []uniqueIndex) {
	for _, definition := range s.collection.Indexes {
		parsed := dbutils.ParseIndex(definition)
		columns := columnsOf(parsed)
		isExpression := func(column string) bool { return s.collection.Fields.GetByName(column) == nil }
		if !parsed.Unique || parsed.IndexName == shippedIndex || slices.ContainsFunc(columns, isExpression) {
			continue
		}
		index := uniqueIndex{columns: columns, args: slices.Clone(columns)}
		for _, name := range s.mentioned(parsed.Where) {
			if !slices.Contains(columns, name) {
				index.args = append(index.args, name)
			}
		}
		for _, column := range parsed.Columns {
			index.collations = append(index.collations, strings.ToUpper(column.Collate))
		}
		index.holderSQL = index.sql(parsed.Where)
		indexes = append(indexes, index)
	}
	return indexes
}

// sql returns the holderSQL. The condition holds for the stored contact inside, and for the values outside.
func (i *uniqueIndex) sql(condition string) string {
	values, same := make([]string, len(i.args)), make([]string, len(i.columns))
	for n, name := range i.args {
		values[n] = fmt.Sprintf("?%d AS `%s`", n+1, name)
	}
	for n, column := range i.columns {
		same[n] = "`" + column + "`"
		if i.collations[n] != "" {
			same[n] += " COLLATE " + i.collations[n]
		}
		same[n] += fmt.Sprintf(" = ?%d", n+1)
	}
	where := ""
	if condition != "" {
		where, same = " WHERE ("+condition+")", append(same, "("+condition+")")
	}
	return "SELECT coalesce((SELECT `id` FROM `contacts` WHERE " + strings.Join(same, " AND ") + " LIMIT 1), '') " +
		"FROM (SELECT " + strings.Join(values, ", ") + ")" + where
}

// key returns the values of the columns as one text, in which values are the same if the index says so. It is "" if
// one is NULL, which is never the same.
func (i *uniqueIndex) key(args []any) string {
	var key strings.Builder
	for n, collation := range i.collations {
		text := fmt.Sprint(args[n])
		switch {
		case args[n] == nil:
			return ""
		case collation == "NOCASE":
			text = strings.Map(lowerASCII, text)
		case collation == "RTRIM":
			text = strings.TrimRight(text, " ")
		}
		fmt.Fprintf(&key, "%q,", text)
	}
	return key.String()
}

func lowerASCII(r rune) rune {
	if r >= 'A' && r <= 'Z' {
		r += 'a' - 'A'
	}
	return r
}

// indexed is a key in one of the admin's unique indexes, or the id of a contact there.
type indexed struct {
	index int
	value string // the key, or the id of a contact
}

// checkUnique checks the values that must be unique. The error is a fault.Fields if another contact has one of them.
// The database may still refuse the contact.
func (p *plan) checkUnique(c *change) error {
	if c.before == nil || c.after.ExternalID != c.before.ExternalID {
		if err := p.checkExternalID(c); err != nil {
			return err
		}
	}
	for i, index := range p.unique() {
		isSet := func(name string) bool { _, sent := c.sets[name]; return sent }
		if c.before != nil && !slices.ContainsFunc(index.args, isSet) {
			continue
		}
		if err := p.checkIndex(c, i, index); err != nil {
			return err
		}
	}
	return nil
}

func (p *plan) checkIndex(c *change, i int, index uniqueIndex) error {
	args := make([]any, len(index.args))
	for n, name := range index.args {
		var err error
		if args[n], err = p.column(c, name); err != nil {
			return err
		}
	}
	key, stored := "", ""
	isIn, err := sqlite.Row(p.tx, []any{&stored}, index.holderSQL, args...)
	if err != nil {
		return fmt.Errorf("looking into a unique index: %w", err)
	}
	if isIn {
		key = index.key(args)
	}
	for _, holder := range []string{p.made.holders[indexed{i, key}], p.made.stillHolds(i, stored)} {
		if holder != "" && holder != c.after.ID {
			return takenBy(slices.DeleteFunc(slices.Clone(index.columns), func(name string) bool { return name == "tenant" }))
		}
	}
	c.keys = append(c.keys, indexed{i, key})
	return nil
}

// column returns the value of a field as it is stored, and NULL for one that a plan chooses later.
func (p *plan) column(c *change, name string) (any, error) {
	switch name {
	case "tenant":
		return p.tenantID, nil
	case "id", "created", "updated":
		return nil, nil
	}
	if field := FieldNamed(name); field != nil {
		return field.Value(c.after), nil
	}
	return custom.Column(p.collection.Fields.GetByName(name), c.record)
}
