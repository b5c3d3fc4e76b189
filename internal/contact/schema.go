package contact

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact/custom"
	"contactbase/internal/stamp"
)

// shippedFields are the columns that every installation has, in the order in which they are written. All other fields
// of the collection are the admin's.
var shippedFields = slices.Concat([]string{"id", "tenant"},
	eachField(func(f *Field) string { return f.Name }), []string{"created", "updated"})

// The shipped columns in SQL: as they are written for a new contact, and as the scanner reads those of a contact c.
// It reads them joined to one text, because the driver takes longer to fetch a value than SQLite to join it: column
// by column, reading a page of 200 contacts takes half as long again.
var (
	writtenColumns = "`" + strings.Join(shippedFields, "`, `") + "`"
	scannedColumns = "c.`id`, " +
		strings.Join(eachField(func(f *Field) string { return "c.`" + f.Name + "`, " }), "") +
		"c.`created`, c.`updated`"
	joinedColumns = "concat_ws('" + separator + "', " + scannedColumns + ")"
)

// separator stands between joined columns. Normalised values do not contain it; rows that do are read column by column.
const separator = "\x1f"

// ignoredFields may be sent, so that callers can send back what they read, but change nothing.
var ignoredFields = []string{"id", "createdAt", "updatedAt"}

// ReservedFieldNames are names in the contact object that a custom field cannot have.
var ReservedFieldNames = []string{"createdAt", "updatedAt"}

// schema is the collection of contacts and what follows from its fields. It never changes.
type schema struct {
	collection  *core.Collection
	adminFields []core.Field // those that an admin added: custom, then the hidden ones
	custom      []core.Field // the admin's fields that the API shows
	insertSQL   string       // writes the row of a new contact
	unique      func() []uniqueIndex
}

// latest is the schema that was used last. PocketBase never changes a collection that it keeps in memory but replaces
// it, so a schema holds for as long as the pointer to its collection.
var latest atomic.Pointer[schema]

// schemaFor returns the schema of contacts.
func schemaFor(app core.App) (*schema, error) {
	collection, err := app.FindCachedCollectionByNameOrId(CollectionName)
	if err != nil {
		return nil, fmt.Errorf("finding the collection of contacts: %w", err)
	}
	s := latest.Load()
	if s == nil || s.collection != collection {
		s = newSchema(collection)
		latest.Store(s)
	}
	return s, nil
}

func newSchema(collection *core.Collection) *schema {
	s := &schema{collection: collection}
	s.unique = sync.OnceValue(s.uniqueIndexes)
	var unseen []core.Field
	for _, field := range collection.Fields {
		switch {
		case !isCustom(field):
		case slices.Contains(ReservedFieldNames, field.GetName()) ||
			field.GetHidden() || field.Type() == core.FieldTypePassword:
			unseen = append(unseen, field)
		default:
			s.custom = append(s.custom, field)
		}
	}
	s.adminFields = slices.Concat(s.custom, unseen)
	columns := writtenColumns
	for _, field := range s.adminFields {
		columns += ", `" + field.GetName() + "`"
	}
	s.insertSQL = "INSERT INTO `contacts` (" + columns +
		") VALUES (?" + strings.Repeat(", ?", len(shippedFields)+len(s.adminFields)-1) + ")"
	return s
}

// isCustom reports whether the field of a collection is the admin's.
func isCustom(field core.Field) bool { return !isShipped[field.GetName()] }

var isShipped = func() map[string]bool {
	shipped := make(map[string]bool, len(shippedFields))
	for _, name := range shippedFields {
		shipped[name] = true
	}
	return shipped
}()

// customField returns the admin's field with that name, or nil.
func (s *schema) customField(name string) core.Field {
	for _, field := range s.custom {
		if field.GetName() == name {
			return field
		}
	}
	return nil
}

// OfRecord returns the contact that the record holds.
func OfRecord(record *core.Record) *Contact {
	c := &Contact{
		ID:      record.Id,
		Created: stamp.Show(record.GetDateTime("created").String()),
		Updated: stamp.Show(record.GetDateTime("updated").String()),
	}
	for _, field := range Fields {
		*field.of(c) = record.GetString(field.Name)
	}
	c.Custom = newSchema(record.Collection()).shown(record)
	return c
}

// shown returns the values of the record's custom fields.
func (s *schema) shown(record *core.Record) (values []CustomValue) {
	for _, field := range s.custom {
		values = append(values, CustomValue{field.GetName(), custom.Shown(record.GetRaw(field.GetName()))})
	}
	return values
}

// scanner reads rows of the joined columns, or of the scanned ones, and of the admin's.
type scanner struct {
	schema *schema
	fields []core.Field // the admin's that are read
	record *core.Record // with which they interpret a stored value

	isJoined bool
	joined   string  // the current row
	current  Contact // the current row if it is not joined
	custom   []any
	into     []any // the targets of a row: joined or current, and custom
}

func (s *schema) scanner(joined bool, fields []core.Field) *scanner {
	sc := &scanner{schema: s, fields: fields, isJoined: joined, custom: make([]any, len(fields))}
	if len(fields) > 0 {
		sc.record = core.NewRecord(s.collection)
	}
	if joined {
		sc.into = append(sc.into, &sc.joined)
	} else {
		sc.into = append(sc.into, &sc.current.ID)
		for _, field := range Fields {
			sc.into = append(sc.into, field.of(&sc.current))
		}
		sc.into = append(sc.into, &sc.current.Created, &sc.current.Updated)
	}
	for i := range sc.custom {
		sc.into = append(sc.into, &sc.custom[i])
	}
	return sc
}

// errSeparator means that a value contains the separator or is NULL, so that the joined columns cannot be split.
var errSeparator = errors.New("joined columns cannot be split")

// scan reads the current row.
func (sc *scanner) scan(row interface{ Scan(...any) error }) (*Contact, error) {
	if err := row.Scan(sc.into...); err != nil {
		return nil, err
	}
	c := new(Contact)
	*c = sc.current
	if sc.isJoined && !c.split(sc.joined) {
		return nil, errSeparator
	}
	c.Created, c.Updated = stamp.Show(c.Created), stamp.Show(c.Updated)
	for i, field := range sc.fields {
		value, err := field.PrepareValue(sc.record, custom.Readable(sc.custom[i]))
		if err != nil {
			return nil, fmt.Errorf("reading the field %q of the contact %s: %w", field.GetName(), c.ID, err)
		}
		c.stored = append(c.stored, value)
		if i < len(sc.schema.custom) {
			c.Custom = append(c.Custom, CustomValue{field.GetName(), custom.Shown(value)})
		}
	}
	return c, nil
}

// split sets the shipped fields from the joined text of their columns, and reports whether the text can be split.
func (c *Contact) split(joined string) bool {
	if strings.Count(joined, separator) != len(Fields)+2 { // one less than there are columns
		return false
	}
	next := func() (value string) {
		value, joined, _ = strings.Cut(joined, separator)
		return value
	}
	c.ID = next()
	for _, field := range Fields {
		*field.of(c) = next()
	}
	c.Created, c.Updated = next(), next()
	return true
}
