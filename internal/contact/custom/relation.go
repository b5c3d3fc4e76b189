package custom

import (
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	validation "github.com/pocketbase/ozzo-validation/v4"
	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/dbutils"
	"github.com/pocketbase/pocketbase/tools/list"

	"contactbase/internal/sqlite"
)

// A relation that an admin adds to the contacts may lead to rows that belong to tenants: to other contacts, to
// webhooks, or to a collection of the admin's own. PocketBase checks only whether such a row exists. So a tenant
// could find out which ids others have, and the deletion of another tenant's row would affect its contacts.

// ErrNoSuchRow is PocketBase's own verdict on an id that does not exist. A row of another tenant gets the same one.
var ErrNoSuchRow = validation.NewError("validation_missing_rel_records",
	"Failed to find all relation records with the provided ids")

// CheckOwner returns the errors in a record's field if it is a relation and leads to a row of another tenant. IDs
// that are stored already are not checked, so that they do not prevent other changes.
func CheckOwner(app core.App, record *core.Record, field core.Field) (wrong, err error) {
	relation, ok := field.(*core.RelationField)
	if !ok {
		return nil, nil
	}
	ids := Added(record.GetStringSlice(relation.Name), record.Original().GetRaw(relation.Name))
	if len(ids) > max(relation.MaxSelect, 1) { // PocketBase refuses them for their number
		return nil, nil
	}
	err = RetryOutdated(app, func(app core.App) error {
		target, err := app.FindCachedCollectionByNameOrId(relation.CollectionId)
		if err == nil {
			wrong, err = CheckRows(sqlite.Direct(app.ConcurrentDB()), relation,
				target, record.Collection(), record.GetString("tenant"), ids)
		}
		return err
	})
	if errors.Is(err, sql.ErrNoRows) { // the collection no longer exists
		return ErrNoSuchRow, nil
	}
	return wrong, err
}

// Added returns the ids that are not stored yet.
func Added(ids []string, stored any) []string {
	known := list.ToUniqueStringSlice(stored)
	return slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return slices.Contains(known, id) })
}

// Collections are collections by their ids.
type Collections map[string]*core.Collection

// Targets returns the collections to which relations among the fields lead, without those that no longer exist.
func Targets(
	fields []core.Field, find func(nameOrID string) (*core.Collection, error),
) (targets Collections, err error) {
	for _, field := range fields {
		relation, ok := field.(*core.RelationField)
		if !ok {
			continue
		}
		target, err := find(relation.CollectionId)
		if errors.Is(err, sql.ErrNoRows) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("finding the collection of the field %q: %w", relation.Name, err)
		}
		if targets == nil {
			targets = Collections{}
		}
		targets[target.Id] = target
	}
	return targets, nil
}

// CheckRows returns the errors in the IDs of a relation of the contacts: rows of the target that do not exist, or
// belong to another tenant. The target is nil if the collection no longer exists.
func CheckRows(
	tx sqlite.Reader, relation *core.RelationField, target, contacts *core.Collection, tenantID string, ids []string,
) (wrong, err error) {
	if len(ids) == 0 {
		return nil, nil
	}
	if target == nil {
		return ErrNoSuchRow, nil
	}
	query, args := "SELECT count(*) FROM `"+target.Name+"` r WHERE r.`id` IN (SELECT `value` FROM json_each(?1))",
		[]any{sqlite.List(ids)}
	if owned := OwnedBy(contacts, target, "?2"); owned != "" {
		query, args = query+" AND "+owned, append(args, tenantID)
	}
	found, err := sqlite.Value[int](tx, query, args...)
	if err != nil {
		return nil, fmt.Errorf("checking the rows to which the field %q leads: %w", relation.Name, err)
	}
	if found != len(ids) {
		return ErrNoSuchRow, nil
	}
	return nil, nil
}

// CheckCount returns PocketBase's verdict on the number of rows to which a relation leads.
func CheckCount(relation *core.RelationField, number int) error {
	most := max(relation.MaxSelect, 1)
	switch {
	case number == 0 && relation.Required:
		return validation.ErrRequired
	case number == 0:
		return nil
	case number < relation.MinSelect:
		return validation.NewError("validation_not_enough_values", fmt.Sprintf("Select at least %d", relation.MinSelect))
	case number > most:
		return validation.NewError("validation_too_many_values", fmt.Sprintf("Select no more than %d", most))
	default:
		return nil
	}
}

// OwnedBy returns the SQL condition that a row r of the target collection belongs to a tenant, or "" if its rows
// belong to no tenant. tenant is an SQL expression, and contacts is the collection whose field "tenant" names the
// collection of tenants. If the target has several relations to tenants, the program's own one decides; without one,
// all of them have to name the tenant.
func OwnedBy(contacts, target *core.Collection, tenant string) string {
	tenants := contacts.Fields.GetByName("tenant").(*core.RelationField).CollectionId // a shipped field
	if target.Id == tenants {
		return "r.`id` = " + tenant
	}
	var conditions []string
	for _, field := range target.Fields {
		relation, ok := field.(*core.RelationField)
		if !ok || relation.CollectionId != tenants {
			continue
		}
		// also if it is not multiple
		list := strings.NewReplacer("[[", "", "]]", "").Replace(dbutils.JSONEach("r.`" + relation.Name + "`"))
		condition := tenant + " IN (SELECT `value` FROM " + list + ")"
		if relation.System {
			return condition
		}
		conditions = append(conditions, condition)
	}
	return strings.Join(conditions, " AND ")
}
