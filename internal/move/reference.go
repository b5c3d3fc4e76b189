package move

import (
	"fmt"
	"slices"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact"
	"contactbase/internal/contact/custom"
	"contactbase/internal/member"
	"contactbase/internal/sqlite"
)

// reference is a column whose values are ids of rows.
type reference struct {
	link
	table  *table
	list   bool // of ids
	target *core.Collection
}

// references returns a table's references: its links, and its collection's relation fields.
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
		optional := !field.Required || !field.System // an admin may make a field required later
		found = append(found, reference{
			link{column: field.Name, to: target.Name, optional: optional}, t, column.isList(), target,
		})
	}
	return found, nil
}

// isInside reports whether the archive contains the referenced rows.
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

// checkHere looks for conflicts with other tenants here: ids and unique values of rows still to be imported, and
// references to others' rows. from is the checkpoint.
func (d *database) checkHere(c *contents, from checkpoint) error {
	for step, t := range tables {
		if step < from.step {
			continue
		}
		after := 0
		if step == from.step {
			after = from.row
		}
		if t.name == member.CollectionName {
			if err := d.checkAddresses(after); err != nil {
				return err
			}
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

// checkAddresses looks for members, after a number of rows, whose email addresses other members here have. The error
// names one of them, so that an admin can ask that person.
func (d *database) checkAddresses(after int) error {
	address, err := sqlite.Value[string](d, "SELECT a.`email` FROM `archive`.`tenant_members` a "+
		"JOIN `here`.`tenant_members` h ON h.`email` = a.`email` COLLATE NOCASE AND h.`id` <> a.`id` "+
		"WHERE a.rowid > ? AND a.`email` <> '' ORDER BY a.rowid LIMIT 1", after)
	if err == nil && address != "" {
		err = fmt.Errorf("the member %s already belongs to another tenant of this installation: "+
			"delete one of the two members, or change an address, and export again", address)
	}
	return err
}

// checkTaken looks for unique values, of the rows after a number, that already exist here.
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
		from := fmt.Sprintf("(SELECT %srowid FROM `archive`.`%s` WHERE rowid > %d AND (%s)) x "+
			"WHERE EXISTS (SELECT 1 FROM `here`.`%s` WHERE (%s)%s)",
			values, t.name, after, u.where, t.name, u.where, same)
		if err := d.none(
			from, "%d values of "+u.name+" in "+t.name+" are already used by another tenant of this installation",
		); err != nil {
			return err
		}
	}
	return nil
}

// checkStrangers looks for references to rows that are here but not in the archive. References to a custom
// collection, whose rows an archive does not contain, may lead to existing rows that belong to no tenant.
func (d *database) checkStrangers(r reference) error {
	const problem = "%d values of "
	where := r.table.name + "." + r.column
	if r.isInside() {
		return d.none(r.values()+" WHERE EXISTS (SELECT 1 FROM `here`.`"+r.to+"` o WHERE o.`id` = v.`value`) "+
			"AND NOT EXISTS (SELECT 1 FROM `archive`.`"+r.to+"` o WHERE o.`id` = v.`value`)",
			problem+where+" refer to rows of "+r.to+" that belong to another tenant of this installation")
	}
	contacts, err := d.app.FindCachedCollectionByNameOrId(contact.CollectionName)
	if err != nil {
		return err
	}
	row := "SELECT 1 FROM `here`.`" + r.to + "` r WHERE r.`id` = v.`value`"
	owned := custom.OwnedBy(contacts, r.target, "(SELECT `id` FROM `archive`.`tenants`)")
	if owned == "" {
		return d.none(r.values()+" WHERE NOT EXISTS ("+row+")",
			problem+where+" refer to rows of "+r.to+" that do not exist here: "+
				"add those rows with the same IDs, then import again")
	}
	return d.none(r.values()+" WHERE EXISTS ("+row+" AND NOT ("+owned+"))",
		problem+where+" refer to rows of "+r.to+" that belong to another tenant of this installation, or to none")
}
