package move

import (
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/sqlite"
)

// column is a column of a table in this installation.
type column struct {
	name     string
	declared string // its type in SQL
	nullable bool
	packed   bool       // may be a compressed text
	field    core.Field // nil if the table is not a collection
}

// columnsHere returns the columns that a table has in this installation.
func (d *database) columnsHere(t *table) (columns []column, err error) {
	fields := core.FieldsList{}
	if t.key == nil {
		collection, err := d.app.FindCachedCollectionByNameOrId(t.name)
		if err != nil {
			return nil, fmt.Errorf("finding the collection %s: %w", t.name, err)
		}
		fields = collection.Fields
	}
	const columnsSQL = "SELECT `name`, `type`, `notnull` = 0 FROM pragma_table_info(?, 'here')"
	err = sqlite.Each(d, columnsSQL, func(rows *sql.Rows) error {
		var c column
		err := rows.Scan(&c.name, &c.declared, &c.nullable)
		c.field, c.packed = fields.GetByName(c.name), c.name == t.packed
		columns = append(columns, c)
		return err
	}, t.name)
	return columns, err
}

// columnsOf returns the columns of this installation that the archive's table has. The error names those that one of
// the two lacks: only custom fields may be missing from an archive.
func (d *database) columnsOf(t *table) ([]column, error) {
	names, err := sqlite.Values[string](d, "SELECT `name` FROM pragma_table_info(?, 'archive')", t.name)
	if err != nil {
		return nil, err
	}
	here, err := d.columnsHere(t)
	if err != nil {
		return nil, err
	}
	var columns []column
	for _, name := range names {
		at := slices.IndexFunc(here, func(c column) bool { return c.name == name })
		if at < 0 {
			err = errors.Join(err, fmt.Errorf("the archive has the field %s.%s, "+
				"which this installation lacks: add it in the dashboard with the same type", t.name, name))
			continue
		}
		columns = append(columns, here[at])
	}
	for _, c := range here {
		if (c.field == nil || c.field.GetSystem()) && !slices.Contains(names, c.name) {
			err = errors.Join(err, fmt.Errorf("the archive lacks the field %s.%s", t.name, c.name))
		}
	}
	return columns, err
}

const datePattern = "[0-9][0-9][0-9][0-9]-[01][0-9]-[0-3][0-9] [0-2][0-9]:[0-5][0-9]:[0-6][0-9].[0-9][0-9][0-9]Z"

// rule returns the SQL condition for valid values of the column, and its description.
func (c column) rule() (condition, required string) {
	name := "`" + c.name + "`"
	switch field := c.field.(type) {
	case *core.FileField:
		return name + " IN ('', '[]')", "must be empty, because an archive contains no files"
	case *core.DateField, *core.AutodateField:
		return "typeof(" + name + ") = 'text' AND (" + name + " = '' OR " +
			name + " GLOB '" + datePattern + "')", "must be a date"
	case *core.NumberField:
		condition = "typeof(" + name + ") IN ('integer', 'real')"
		if field.OnlyInt {
			condition = "typeof(" + name + ") = 'integer'"
		}
		if field.System && field.Min != nil {
			condition += fmt.Sprintf(" AND %s >= %v", name, *field.Min)
		}
		return condition, "must be a number that the field accepts"
	case *core.TextField:
		if field.PrimaryKey {
			return "typeof(" + name + ") = 'text' AND " + name + " <> '' AND " + name + " NOT GLOB '*[^a-z0-9]*'",
				"must be the ID of a record"
		}
	}
	if c.isList() {
		return "typeof(" + name + ") = 'text' AND CASE WHEN json_valid(" + name +
			") THEN json_type(" + name + ") = 'array' ELSE 0 END", "must be a list"
	}
	switch strings.ToUpper(c.declared) {
	case "TEXT":
		if c.packed {
			return "typeof(" + name + ") IN ('text', 'blob')", "must be text"
		}
		return "typeof(" + name + ") = 'text'", "must be text"
	case "INTEGER":
		return "typeof(" + name + ") = 'integer'", "must be a whole number"
	case "BOOLEAN":
		return "typeof(" + name + ") = 'integer' AND " + name + " IN (0, 1)", "must be true or false"
	case "JSON":
		condition = "typeof(" + name + ") <> 'blob' AND (" + name + " = '' OR json_valid(" + name + "))"
		if c.nullable {
			condition = name + " IS NULL OR " + condition
		}
		return condition, "must be JSON"
	default:
		return "false", "has a type that archives do not support"
	}
}

// isList reports whether the field holds a list of values.
func (c column) isList() bool {
	multiple, ok := c.field.(core.MultiValuer)
	return ok && multiple.IsMultiple()
}

func names(columns []column) []string {
	list := make([]string, len(columns))
	for i, c := range columns {
		list[i] = c.name
	}
	return list
}
