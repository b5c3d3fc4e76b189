package move

import (
	"cmp"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/dbutils"

	"contactbase/internal/backup"
	"contactbase/internal/event"
	"contactbase/internal/sqlite"
)

// contents describes the database of an archive.
type contents struct {
	tenant, name string
	columns      map[*table][]column
	rows         map[*table]int
}

// inspect checks that the archive's database is intact and has exactly the tables of this version. All rows must
// belong to the tenant, values must fit their fields, and references must lead to rows in the archive. Both exports
// and imports check this.
func (d *database) inspect() (*contents, error) {
	if err := d.checkHeader(); err != nil {
		return nil, err
	}
	c := &contents{columns: map[*table][]column{}, rows: map[*table]int{}}
	for _, t := range tables {
		columns, err := d.columnsOf(t)
		if err != nil {
			return nil, err
		}
		c.columns[t] = columns
	}
	if err := d.checkSchema(c); err != nil {
		return nil, err
	}
	state, err := sqlite.Value[string](d, "PRAGMA `archive`.integrity_check(1)")
	if err == nil && state != "ok" {
		err = fmt.Errorf("the database of the archive is damaged: %s", state)
	}
	if err != nil {
		return nil, err
	}
	for _, t := range tables {
		if err := d.checkRows(c, t); err != nil {
			return nil, err
		}
		if err := d.checkUnique(t); err != nil {
			return nil, err
		}
		if err := d.checkLinks(c, t); err != nil {
			return nil, err
		}
	}
	marks := "`archive`.`events` WHERE `id` IN ('" + event.Beginning + "', (SELECT `event` FROM `archive`.`_eventsGone`))"
	if err := d.none(marks, "%d events have an ID that the feed uses as a mark"); err != nil {
		return nil, err
	}
	if c.rows[tables[0]] != 1 {
		return nil, fmt.Errorf("the archive contains %d tenants: it must contain exactly one", c.rows[tables[0]])
	}
	err = sqlite.Each(d, "SELECT `id`, `name` FROM `archive`.`tenants`", func(rows *sql.Rows) error {
		return rows.Scan(&c.tenant, &c.name)
	})
	return c, err
}

// schemaVersion returns the number of this program's newest migration in the data directory.
func schemaVersion(app core.App) (version int, err error) {
	applied, err := backup.Applied(app.DataDir())
	for _, name := range applied {
		var number int
		if _, err := fmt.Sscanf(name, "%d_", &number); err == nil && backup.IsOwn(name) {
			version = max(version, number)
		}
	}
	return version, err
}

func (d *database) checkHeader() error {
	there, err := sqlite.Value[int](d, "PRAGMA `archive`.user_version")
	if err != nil {
		return fmt.Errorf("reading the database of the archive: %w", err)
	}
	id, err := sqlite.Value[int](d, "PRAGMA `archive`.application_id")
	if err != nil {
		return err
	}
	here, err := schemaVersion(d.app)
	switch {
	case err != nil:
		return err
	case id != format:
		return errors.New("the file is not a tenant archive, or it is damaged")
	case there > here:
		return fmt.Errorf("the archive comes from a newer version: "+
			"update this installation (the archive has the schema %d, this installation %d)", there, here)
	case there < here:
		return fmt.Errorf("the archive comes from an older version: update the installation that it comes from, "+
			"and export again (the archive has the schema %d, this installation %d)", there, here)
	}
	return nil
}

// checkSchema compares the archive's schema with the one that this version creates for its columns.
func (d *database) checkSchema(c *contents) error {
	for _, t := range tables {
		if err := d.run(t.create("main", names(c.columns[t]))); err != nil {
			return err
		}
	}
	const schema = "SELECT `type`, `name`, `tbl_name`, `sql` FROM `%s`.sqlite_schema"
	for _, difference := range []struct{ query, problem string }{
		{fmt.Sprintf(schema+" EXCEPT "+schema, "archive", "main"), "the archive has the %s, which does not belong in it"},
		{fmt.Sprintf(schema+" EXCEPT "+schema, "main", "archive"), "the archive lacks the %s"},
	} {
		different, err := sqlite.Value[string](d, "SELECT `type` || ' ' || `name` FROM ("+difference.query+") LIMIT 1")
		if err == nil && different != "" {
			err = fmt.Errorf(difference.problem, different)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// checkRows counts a table's rows, which are numbered from 1, and checks each value against its column's rule.
func (d *database) checkRows(c *contents, t *table) error {
	columns := c.columns[t]
	counts, wanted := make([]int, len(columns)), make([]string, len(columns))
	var rows, first, last, largest int
	size, into := "0", []any{&rows, &first, &last, &largest}
	query := ""
	for i, column := range columns {
		var condition string
		condition, wanted[i] = column.rule()
		query += ", count(*) FILTER (WHERE (" + condition + ") IS NOT TRUE)"
		size += " + coalesce(octet_length(`" + column.name + "`), 0)"
		into = append(into, &counts[i])
	}
	query = "SELECT count(*), coalesce(min(rowid), 1), coalesce(max(rowid), 0), coalesce(max(" + size +
		"), 0)" + query + " FROM `archive`.`" + t.name + "`"
	err := sqlite.Each(d, query, func(rows *sql.Rows) error { return rows.Scan(into...) })
	if err != nil {
		return fmt.Errorf("reading %s: %w", t.name, err)
	}
	if first != 1 || last != rows {
		return fmt.Errorf("the rows of %s are not numbered from 1 to %d", t.name, rows)
	}
	if largest > maxRow {
		return fmt.Errorf("a row of %s has %d MiB, more than %d MiB", t.name, largest>>20, maxRow>>20)
	}
	for i, count := range counts {
		if count > 0 {
			return fmt.Errorf("%d rows of %s have an invalid value in %s: %s", count, t.name, columns[i].name, wanted[i])
		}
	}
	c.rows[t] = rows
	return nil
}

// checkLinks looks for references that lead to no row in the archive.
func (d *database) checkLinks(c *contents, t *table) error {
	references, err := c.references(d.app, t)
	if err != nil {
		return err
	}
	for _, r := range references {
		if r.past || !r.isInside() {
			continue
		}
		condition := "NOT EXISTS (SELECT 1 FROM `archive`.`" + r.to + "` o WHERE o.`id` = v.`value`)"
		if err := d.none(
			r.values()+" WHERE "+condition,
			"%d values of "+t.name+"."+r.column+" refer to rows of "+r.to+" that do not exist "+
				"or belong to another tenant",
		); err != nil {
			return err
		}
	}
	return nil
}

// none returns an error with the number of rows if a query finds any.
func (d *database) none(from, problem string) error {
	found, err := sqlite.Value[int](d, "SELECT count(*) FROM "+from)
	if err == nil && found > 0 {
		err = fmt.Errorf(problem, found)
	}
	return err
}

// unique is a unique index of a table in this installation, without the columns of the archive's primary key.
type unique struct {
	name  string
	keys  []string // columns or expressions
	where string
}

// uniqueIndexes returns the unique indexes of a table, that of its primary key first.
func uniqueIndexes(app core.App, t *table) ([]unique, error) {
	if t.key != nil {
		return []unique{{strings.Join(t.key, ", "), quotedList(t.key), "true"}}, nil
	}
	indexes := []unique{{"id", []string{"`id`"}, "true"}}
	collection, err := app.FindCachedCollectionByNameOrId(t.name)
	if err != nil {
		return nil, err
	}
	for _, text := range collection.Indexes {
		index := dbutils.ParseIndex(text)
		if !index.Unique {
			continue
		}
		u := unique{where: cmp.Or(index.Where, "true")}
		shown := []string{}
		for _, c := range index.Columns {
			key := c.Name
			if collection.Fields.GetByName(c.Name) != nil {
				key = "`" + c.Name + "`"
			}
			if c.Collate != "" {
				key += " COLLATE " + c.Collate
			}
			u.keys, shown = append(u.keys, key), append(shown, c.Name)
		}
		u.name = strings.Join(shown, ", ")
		indexes = append(indexes, u)
	}
	return indexes, nil
}

func quotedList(columns []string) []string { return strings.Split(quoted(columns, ""), ", ") }

// checkUnique looks for duplicates in the archive that a unique index forbids.
func (d *database) checkUnique(t *table) error {
	indexes, err := uniqueIndexes(d.app, t)
	if err != nil {
		return err
	}
	for _, u := range indexes[1:] { // the primary key is the archive's own
		from := "(SELECT 1 FROM `archive`.`" + t.name + "` WHERE (" + u.where +
			") GROUP BY " + strings.Join(u.keys, ", ") + " HAVING count(*) > 1)"
		if err := d.none(from, "%d values of "+u.name+" are in "+t.name+" more than once"); err != nil {
			return err
		}
	}
	return nil
}
