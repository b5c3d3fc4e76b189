package contact

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	validation "github.com/pocketbase/ozzo-validation/v4"
	"github.com/pocketbase/pocketbase/core"
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

// notUnique returns the fields that a unique index refuses, without the tenant, which is a part of the index.
func (s *schema) notUnique(err error) (names []string) {
	var faults validation.Errors
	errors.As(validators.NormalizeUniqueIndexError(err, CollectionName, s.collection.Fields.FieldNames()), &faults)
	for _, name := range s.collection.Fields.FieldNames() {
		if _, found := faults[name]; name != "tenant" && (found || s.hasExpression(err, name)) {
			names = append(names, name)
		}
	}
	return names
}

// hasExpression reports whether the error names an index with an expression of the field. SQLite names the columns or the index only in the
// text of the error, which PocketBase reads as well.
func (s *schema) hasExpression(err error, name string) bool {
	word := regexp.MustCompile(`\b` + regexp.QuoteMeta(name) + `\b`)
	for _, definition := range s.collection.Indexes {
		index := dbutils.ParseIndex(definition)
		if strings.Contains(err.Error(), "UNIQUE constraint failed: index '"+index.IndexName+"'") {
			return slices.ContainsFunc(index.Columns, func(c dbutils.IndexColumn) bool { return word.MatchString(c.Name) })
		}
	}
	return false
}

var errExternalIDTaken = fault.Fields{ExternalID: {Code: fault.CodeDuplicateExternalID, Message: "belongs to another contact already"}}

// uniqueIndex is a unique index that an admin has added to the contacts.
type uniqueIndex struct {
	fields []string // that are in its keys, without the tenant
	args   []string // the fields whose values keySQL takes

	// keySQL returns a row unless the index leaves the contact out: the contact's key, "" for one that is never taken, and the id of the stored
	// contact that has this key, "" for none.
	keySQL string
}

// uniqueIndexes returns the admin's unique indexes. It leaves out those that contain the id or a time, which no caller chooses.
func uniqueIndexes(collection *core.Collection) (indexes []uniqueIndex) {
	for _, definition := range collection.Indexes {
		index := dbutils.ParseIndex(definition)
		if !index.Unique || index.IndexName == shippedIndex {
			continue
		}
		var columns []string
		for _, column := range index.Columns {
			columns = append(columns, column.Name)
		}
		args := mentioned(collection, append(columns, index.Where)...)
		if slices.ContainsFunc([]string{"id", "created", "updated"}, func(name string) bool { return slices.Contains(args, name) }) {
			continue
		}
		fields := slices.DeleteFunc(mentioned(collection, columns...), func(name string) bool { return name == "tenant" })
		indexes = append(indexes, uniqueIndex{fields, args, keySQL(index, args)})
	}
	return indexes
}

// shippedIndex is the unique index of every installation, on the external id.
const shippedIndex = "idx_contacts_externalId"

// mentioned returns the fields of the collection that SQL expressions mention.
func mentioned(collection *core.Collection, expressions ...string) []string {
	text := strings.Join(expressions, " ")
	return slices.DeleteFunc(collection.Fields.FieldNames(), func(name string) bool {
		return !regexp.MustCompile(`(?i)\b` + regexp.QuoteMeta(name) + `\b`).MatchString(text)
	})
}

var plainName = regexp.MustCompile(`^\w+$`)

// keySQL returns the query of a uniqueIndex. It computes the index's expressions for a row that has the arguments as columns, and looks into the
// index for these values.
func keySQL(index dbutils.Index, args []string) string {
	row := make([]string, len(args))
	for i, name := range args {
		row[i] = fmt.Sprintf("?%d AS `%s`", i+1, name)
	}
	from := " FROM (SELECT " + strings.Join(row, ", ") + ")"
	var key, null, same []string
	for _, column := range index.Columns {
		expression := "(" + column.Name + ")"
		if plainName.MatchString(column.Name) {
			expression = "`" + column.Name + "`"
		}
		value := "(SELECT " + expression + from + ")"
		null = append(null, expression+" IS NULL")
		switch strings.ToUpper(column.Collate) {
		case "":
			key, same = append(key, "quote("+expression+")"), append(same, expression+" = "+value)
		case "NOCASE":
			key, same = append(key, "quote(lower("+expression+"))"), append(same, expression+" COLLATE NOCASE = "+value)
		default:
			key, same = append(key, "quote(rtrim("+expression+"))"), append(same, expression+" COLLATE "+column.Collate+" = "+value)
		}
	}
	where := ""
	if index.Where != "" {
		where, same = " WHERE ("+index.Where+")", append(same, "("+index.Where+")")
	}
	return "SELECT iif(" + strings.Join(null, " OR ") + ", '', " + strings.Join(key, " || ',' || ") + "), " +
		"coalesce((SELECT `id` FROM `contacts` WHERE " + strings.Join(same, " AND ") + " LIMIT 1), '')" + from + where
}

// indexed is a key in one of the admin's unique indexes, or the id of a contact there.
type indexed struct {
	index int
	value string // the key, or the id of a contact
}

// checkUnique checks the values that must be unique. The error is a fault.Fields if another contact has one of them. It does not check the
// indexes that uniqueIndexes leaves out, so that the database may still refuse the contact.
func (p *plan) checkUnique(c *change) error {
	if c.before == nil || c.after.ExternalID != c.before.ExternalID {
		if err := p.checkExternalID(c.after); err != nil {
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
	key, stored, err := p.holder(index, args)
	if err != nil {
		return fmt.Errorf("looking into a unique index: %w", err)
	}
	for _, holder := range []string{p.made.holders[indexed{i, key}], p.made.stillHolds(i, stored)} {
		if holder != "" && holder != c.after.ID {
			return takenBy(index.fields)
		}
	}
	c.keys = append(c.keys, indexed{i, key})
	return nil
}

// holder returns the key of a row in a unique index, and the id of the stored contact that has it, "" for none.
func (p *plan) holder(index uniqueIndex, args []any) (key, id string, err error) {
	_, err = sqlite.Row(p.tx, []any{&key, &id}, index.keySQL, args...)
	return key, id, err
}

// column returns the value of a field as it is stored.
func (p *plan) column(c *change, name string) (any, error) {
	if name == "tenant" {
		return p.tenantID, nil
	}
	if field := FieldNamed(name); field != nil {
		return field.Value(c.after), nil
	}
	return custom.Column(p.collection.Fields.GetByName(name), c.record)
}
