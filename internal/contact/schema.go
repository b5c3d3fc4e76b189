package contact

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact/custom"
	"contactbase/internal/stamp"
)

// shippedFields are the columns that every installation has, in the order in which they are written. Everything else in
// the collection is the admin's.
var shippedFields = slices.Concat([]string{"id", "tenant"}, eachField(func(f *Field) string { return f.Name }), []string{"created", "updated"})

// The shipped columns in SQL: as a new contact has them written, and as the scanner reads them of a contact c. It reads them as one text,
// because each value that is fetched costs more than joining it: column by column, a page of 200 contacts takes half as long again to read.
var (
	writtenColumns = "`" + strings.Join(shippedFields, "`, `") + "`"
	scannedColumns = "c.`id`, " + strings.Join(eachField(func(f *Field) string { return "c.`" + f.Name + "`, " }), "") + "c.`created`, c.`updated`"
	joinedColumns  = "concat_ws('" + separator + "', " + scannedColumns + ")"
)

// separator stands between joined columns. Normalised values have none; what else has one is read column by column.
const separator = "\x1f"

// ignoredFields may be sent, so that what was read can be sent back, and change nothing.
var ignoredFields = []string{"id", "createdAt", "updatedAt"}

// ReservedFieldNames are names of the contact object that an admin's own field cannot have.
var ReservedFieldNames = []string{"createdAt", "updatedAt"}

// schema is the collection and what follows from its fields.
type schema struct {
	collection *core.Collection
	own        []core.Field // the admin's fields, those first that the API shows
	custom     []core.Field // those
}

func newSchema(collection *core.Collection) *schema {
	s := &schema{collection: collection}
	var unseen []core.Field
	for _, field := range collection.Fields {
		switch {
		case !isCustom(field):
		case slices.Contains(ReservedFieldNames, field.GetName()) || field.GetHidden() || field.Type() == core.FieldTypePassword:
			unseen = append(unseen, field)
		default:
			s.custom = append(s.custom, field)
		}
	}
	s.own = slices.Concat(s.custom, unseen)
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
	own    []core.Field // that are read: the schema's, or those that the API shows
	record *core.Record // what they need to interpret a stored value

	isJoined bool
	joined   string  // the present row
	present  Contact // the present row where it is not joined
	custom   []any
	into     []any // where a row goes: joined or present, and custom
}

func (s *schema) scanner(joined bool, own []core.Field) *scanner {
	sc := &scanner{schema: s, own: own, isJoined: joined, custom: make([]any, len(own))}
	if len(own) > 0 {
		sc.record = core.NewRecord(s.collection)
	}
	if joined {
		sc.into = append(sc.into, &sc.joined)
	} else {
		sc.into = append(sc.into, &sc.present.ID)
		for _, field := range Fields {
			sc.into = append(sc.into, field.of(&sc.present))
		}
		sc.into = append(sc.into, &sc.present.Created, &sc.present.Updated)
	}
	for i := range sc.custom {
		sc.into = append(sc.into, &sc.custom[i])
	}
	return sc
}

// errSeparator means that a value has the separator, or is NULL, so that the joined columns are ambiguous.
var errSeparator = errors.New("joined columns are ambiguous")

// scan reads the current row.
func (sc *scanner) scan(row interface{ Scan(...any) error }) (*Contact, error) {
	if err := row.Scan(sc.into...); err != nil {
		return nil, err
	}
	c := new(Contact)
	*c = sc.present
	if sc.isJoined && !c.split(sc.joined) {
		return nil, errSeparator
	}
	c.Created, c.Updated = stamp.Show(c.Created), stamp.Show(c.Updated)
	for i, field := range sc.own {
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

// split takes the shipped columns from their joined text, and reports whether that can be done.
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
