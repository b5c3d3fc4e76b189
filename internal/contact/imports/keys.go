package imports

import (
	"database/sql/driver"
	"fmt"
	"hash/maphash"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/dbutils"

	"contactbase/internal/contact"
	"contactbase/internal/contact/search"
	"contactbase/internal/sqlite"
)

// Two rows of a sheet have to do with each other only if they mean the same contact, or have the same values in a unique index. Values are
// compared generously, without regard to case: a pair too many costs a rehearsal time, a pair too few would make it count wrong.

// index is what tells contacts apart: a unique index, or the field that finds a contact.
type index struct {
	parts   []part
	columns []string // of the parts and of the condition

	// vacate takes its key in a unique index from the contact that has the values of the held columns; "" for what is not unique.
	vacate string
	held   []string

	// blank is the key of a new contact without a value in any of the columns, nil if the index has no such contact.
	blank key
}

// part is a column of an index, or an expression.
type part struct {
	columns    []string
	expression string
	fold       func(text string) string
}

// key has the value of each part of an index, nil for one that is not known.
type key []*string

// columns are columns of a contact by their names, with the values that are stored.
type columns map[string]any

// indexes are what tells the contacts of a tenant apart in an import.
type indexes struct {
	app        core.App
	collection *core.Collection
	tenant     string
	all        []index
}

const uniqueSQL = "SELECT `sql` FROM `sqlite_schema` WHERE `type` = 'index' AND `tbl_name` = 'contacts' AND `sql` LIKE 'CREATE UNIQUE%'"

func readIndexes(app core.App, tenantID, match string) (*indexes, error) {
	collection, err := app.FindCachedCollectionByNameOrId(contact.CollectionName)
	if err != nil {
		return nil, err
	}
	x := &indexes{app: app, collection: collection, tenant: tenantID}
	definitions, err := sqlite.Values[string](sqlite.Direct(app.ConcurrentDB()), uniqueSQL)
	if err != nil {
		return nil, fmt.Errorf("reading the unique indexes of contacts: %w", err)
	}
	for _, definition := range definitions {
		if err := x.add(dbutils.ParseIndex(definition)); err != nil {
			return nil, err
		}
	}
	// A contact is found by its external id as well, which the unique index of that has already.
	if match == emailField {
		x.all = append(x.all, index{parts: []part{{columns: []string{emailField}, fold: search.FoldEmail}}, columns: []string{emailField}})
	}
	return x, nil
}

const emailField = "email"

func (x *indexes) add(definition dbutils.Index) error {
	added := index{columns: x.mentioned(definition.Where)}
	var equal []string
	for _, column := range definition.Columns {
		p, held := part{columns: x.mentioned(column.Name)}, "`"+column.Name+"`"
		wanted := "?"
		if !slices.Equal(p.columns, []string{column.Name}) {
			p.expression, held = column.Name, "("+column.Name+")"
			wanted = "(SELECT " + held + " FROM (" + selectAs(p.columns) + "))"
		}
		if column.Collate != "" {
			held += " COLLATE " + column.Collate
		}
		equal, added.held = append(equal, held+" = "+wanted), append(added.held, p.columns...)
		if slices.Equal(p.columns, []string{"tenant"}) { // which is the same for all
			continue
		}
		added.parts = append(added.parts, p)
		added.columns = append(added.columns, p.columns...)
	}
	added.columns = slices.DeleteFunc(added.columns, func(column string) bool { return column == "tenant" })
	if needed := x.mentioned(definition.Where); definition.Where != "" {
		equal = append(equal, "("+definition.Where+")", "(SELECT ("+definition.Where+") FROM ("+selectAs(needed)+"))")
		added.held = append(added.held, needed...)
	}
	if len(added.columns) > 0 { // the last is one of a part
		added.vacate = "UPDATE `contacts` SET `" + added.columns[len(added.columns)-1] + "` = `id` WHERE " + strings.Join(equal, " AND ")
	}
	blank, err := x.columnsOf(contact.Changes{}, true)
	if err != nil {
		return err
	}
	holds := "1"
	if needed := x.mentioned(definition.Where); definition.Where != "" && !lacks(blank, needed) {
		if holds, err = x.evaluate(definition.Where, needed, blank); err != nil {
			return err
		}
	}
	if holds != "" && holds != "0" {
		if added.blank, err = x.key(added, blank); err != nil {
			return err
		}
	}
	x.all = append(x.all, added)
	return nil
}

// mentioned returns the columns of contacts that are mentioned in a piece of SQL.
func (x *indexes) mentioned(sql string) (names []string) {
	for _, name := range x.collection.Fields.FieldNames() {
		if regexp.MustCompile(`(?i)\b` + regexp.QuoteMeta(name) + `\b`).MatchString(sql) {
			names = append(names, name)
		}
	}
	return names
}

// columnsOf returns the columns that changes set, or those of a new contact with the changes, without its id and its times.
func (x *indexes) columnsOf(changes contact.Changes, all bool) (columns, error) {
	found := columns{"tenant": x.tenant}
	plain := !all
	for name := range changes {
		plain = plain && contact.FieldNamed(name) != nil
	}
	if plain {
		for name, value := range changes {
			found[name] = value
		}
		return found, nil
	}
	record := core.NewRecord(x.collection)
	for name, value := range changes {
		record.Set(name, value)
	}
	exported, err := record.DBExport(x.app)
	if err != nil {
		return nil, err
	}
	for name, value := range exported {
		if _, set := changes[name]; set || all && !slices.Contains([]string{"id", "tenant", "created", "updated"}, name) {
			found[name] = value
		}
	}
	return found, nil
}

// keys returns, for each index, the key that a row may give to a contact: nil for none.
func (x *indexes) keys(item contact.Item) ([]key, error) {
	keys := make([]key, len(x.all))
	set, err := x.columnsOf(item.Changes, false)
	if err != nil {
		return nil, err
	}
	for n, i := range x.all {
		if !slices.ContainsFunc(i.columns, func(column string) bool { _, found := set[column]; return found }) {
			keys[n] = i.blank
		} else if keys[n], err = x.key(i, set); err != nil {
			return nil, err
		}
	}
	return keys, nil
}

// held returns, for each index, the key of a contact with these columns.
func (x *indexes) held(by columns) (keys []key, err error) {
	keys = make([]key, len(x.all))
	for n, i := range x.all {
		if keys[n], err = x.key(i, by); err != nil {
			return nil, err
		}
	}
	return keys, nil
}

func (x *indexes) key(i index, of columns) (key, error) {
	k := make(key, len(i.parts))
	for n, p := range i.parts {
		if lacks(of, p.columns) {
			continue
		}
		value, err := x.value(p, of)
		if err != nil {
			return nil, err
		}
		k[n] = &value
	}
	return k, nil
}

func lacks(of columns, names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool { _, known := of[name]; return !known })
}

func (x *indexes) value(p part, of columns) (string, error) {
	switch {
	case p.expression != "":
		return x.evaluate(p.expression, p.columns, of)
	case p.fold != nil:
		text, _ := of[p.columns[0]].(string)
		return p.fold(text), nil
	default:
		return folded(of[p.columns[0]]), nil
	}
}

// evaluate returns the value of an expression of columns.
func (x *indexes) evaluate(expression string, names []string, of columns) (string, error) {
	value, err := sqlite.Value[any](sqlite.Direct(x.app.ConcurrentDB()), "SELECT ("+expression+") FROM ("+selectAs(names)+")", of.of(names)...)
	if err != nil {
		return "", fmt.Errorf("evaluating an index of contacts: %w", err)
	}
	return folded(value), nil
}

// selectAs returns a query for one row with these columns, whose values are its arguments.
func selectAs(names []string) string {
	selected := "SELECT NULL AS `@`"
	for _, name := range names {
		selected += ", ? AS `" + name + "`"
	}
	return selected
}

// of returns the values of columns.
func (c columns) of(names []string) []any {
	values := make([]any, len(names))
	for n, name := range names {
		values[n] = c[name]
	}
	return values
}

// folded returns a text that is the same for values that SQLite may find equal, under any collation.
func folded(value any) string {
	if valuer, ok := value.(driver.Valuer); ok {
		value, _ = valuer.Value() // which fails for no type of PocketBase's
	}
	switch v := value.(type) {
	case nil:
		return ""
	case string:
		return strings.ToLower(strings.TrimRight(v, " "))
	case []byte:
		return folded(string(v))
	case bool:
		return strconv.Itoa(map[bool]int{true: 1}[v])
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	case int64:
		return folded(float64(v))
	default:
		return strings.ToLower(fmt.Sprint(v))
	}
}

// fits reports whether a contact may have both keys. One with unknown parts fits all that have the other parts.
func (k key) fits(other key) bool {
	if k == nil || other == nil {
		return false
	}
	for n, value := range k {
		if value != nil && other[n] != nil && *value != *other[n] {
			return false
		}
	}
	return true
}

// isOpen reports whether no part of the key is known, so that any key fits.
func (k key) isOpen() bool {
	return k != nil && !slices.ContainsFunc(k, func(value *string) bool { return value != nil })
}

// areKnown reports whether all parts of all keys are known.
func areKnown(keys []key) bool {
	return !slices.ContainsFunc(keys, func(k key) bool { return slices.Contains(k, nil) })
}

var seed = maphash.MakeSeed()

// digests hands the digest of each known part of the keys to do.
func digests(keys []key, do func(index int, digest uint64)) {
	for n, k := range keys {
		for p, value := range k {
			if value != nil {
				do(n, digest(n, p, *value))
			}
		}
	}
}

func digest(index, part int, value string) uint64 {
	return maphash.Comparable(seed, struct {
		index, part int
		value       string
	}{index, part, value})
}

// idDigest is the digest of the id of a contact that a row means.
func idDigest(id string) uint64 { return digest(-1, 0, id) }

// lasts has the last row of a sheet in which a digest occurs, or a later one: different digests may share a place.
type lasts struct {
	rows []uint32
	open map[int]int // by index, the last row with a key that any other fits
}

func newLasts(rows, indexes int) *lasts {
	size := 1 << 10
	for size < min(2*rows*(indexes+1), 1<<23) {
		size *= 2
	}
	return &lasts{rows: make([]uint32, size), open: map[int]int{}}
}

func (l *lasts) place(digest uint64) *uint32 { return &l.rows[digest&uint64(len(l.rows)-1)] }

// note notes what a row means.
func (l *lasts) note(row int, item contact.Item, keys []key) {
	note := func(_ int, digest uint64) { *l.place(digest) = uint32(row) }
	digests(keys, note)
	if item.ID != "" {
		note(0, idDigest(item.ID))
	}
	for n, k := range keys {
		if k.isOpen() {
			l.open[n] = row
		}
	}
}

// after reports whether a row behind that one may mean a contact with one of the keys.
func (l *lasts) after(row int, keys []key) (found bool) {
	digests(keys, func(index int, digest uint64) {
		found = found || int(*l.place(digest)) > row || l.open[index] > row
	})
	return found
}

func (l *lasts) idAfter(row int, id string) bool { return int(*l.place(idDigest(id))) > row }
