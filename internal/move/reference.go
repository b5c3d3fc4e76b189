package move

import (
	"fmt"
	"slices"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact"
	"contactbase/internal/contact/custom"
)

// reference is a column whose values are ids of rows.
type reference struct {
	link
	table  *table
	list   bool // of ids
	target *core.Collection
}

// references returns the references of a table: its links, and the relation fields of its collection.
func (c *contents) references(app core.App, t *table) ([]reference, error) {
	var found []reference
	for _, l := range t.links {
		found = append(found, reference{link: l, table: t})
	}
	for _, column := range c.columns[t] {
		field, ok := column.field.(*core.RelationField)
		if !ok {
			continue
		}
		target, err := app.FindCachedCollectionByNameOrId(field.CollectionId)
		if err != nil {
			return nil, fmt.Errorf("finding the collection that %s.%s leads to: %w", t.name, field.Name, err)
		}
		optional := !field.Required || !field.System // an admin may require a field later on
		found = append(found, reference{link{column: field.Name, to: target.Name, optional: optional}, t, column.isList(), target})
	}
	return found, nil
}

// isInside reports whether the rows that it leads to are in the archive.
func (r reference) isInside() bool {
	return slices.ContainsFunc(tables, func(t *table) bool { return t.name == r.to })
}

// values returns the ids in SQL, as `value` of v.
func (r reference) values() string {
	from := "SELECT `" + r.column + "` AS `value` FROM `archive`.`" + r.table.name + "`"
	switch {
	case r.list:
		from = "SELECT j.`value` FROM `archive`.`" + r.table.name + "` t, json_each(t.`" + r.column + "`) j"
	case r.optional || r.past:
		from += " WHERE `" + r.column + "` <> ''"
	}
	return "(" + from + ") v"
}

// checkHere looks for what belongs to others in this installation: ids and unique values of rows that are still to be imported, and
// references that lead to their rows. From tells which rows those are.
func (d *database) checkHere(c *contents, from place) error {
	for step, t := range tables {
		if step < from.step {
			continue
		}
		after := 0
		if step == from.step {
			after = from.row
		}
		if err := d.checkTaken(t, after); err != nil {
			return err
		}
		references, err := c.references(d.app, t)
		if err != nil {
			return err
		}
		for _, r := range references {
			if err := d.checkStrangers(r); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkTaken looks for values of unique indexes, of the rows behind a number, that somebody has here.
func (d *database) checkTaken(t *table, after int) error {
	indexes, err := uniqueIndexes(d.app, t)
	if err != nil {
		return err
	}
	for _, u := range indexes {
		values, same := "", ""
		for i, key := range u.keys {
			values += fmt.Sprintf("%s AS `u%d`, ", key, i)
			same += fmt.Sprintf(" AND %s = x.`u%d`", key, i)
		}
		from := fmt.Sprintf("(SELECT %srowid FROM `archive`.`%s` WHERE rowid > %d AND (%s)) x WHERE EXISTS (SELECT 1 FROM `here`.`%s` WHERE (%s)%s)",
			values, t.name, after, u.where, t.name, u.where, same)
		if err := d.none(from, "%d values of "+u.name+" in "+t.name+" are already used by another tenant of this installation"); err != nil {
			return err
		}
	}
	return nil
}

// checkStrangers looks for references to rows that are here and not in the archive. Those to a custom collection, of which an
// archive has no rows, may lead to rows of nobody in particular, which have to be here, and to no row of another tenant.
func (d *database) checkStrangers(r reference) error {
	const problem = "%d values of "
	where := r.table.name + "." + r.column
	if r.isInside() {
		return d.none(r.values()+" WHERE EXISTS (SELECT 1 FROM `here`.`"+r.to+"` o WHERE o.`id` = v.`value`) AND NOT EXISTS (SELECT 1 FROM `archive`.`"+r.to+"` o WHERE o.`id` = v.`value`)",
			problem+where+" refer to rows of "+r.to+" that belong to another tenant of this installation")
	}
	contacts, err := d.app.FindCachedCollectionByNameOrId(contact.CollectionName)
	if err != nil {
		return err
	}
	row := "SELECT 1 FROM `here`.`" + r.to + "` r WHERE r.`id` = v.`value`"
	owned := custom.OwnedBy(contacts, r.target, "(SELECT `id` FROM `archive`.`tenants`)")
	if owned == "" {
		return d.none(r.values()+" WHERE NOT EXISTS ("+row+")", problem+where+" refer to rows of "+r.to+" that do not exist here: add those rows with the same ids, then import again")
	}
	return d.none(r.values()+" WHERE EXISTS ("+row+" AND NOT ("+owned+"))", problem+where+" refer to rows of "+r.to+" that belong to another tenant of this installation, or to none")
}
