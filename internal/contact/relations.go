package contact

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pocketbase/dbx"
	validation "github.com/pocketbase/ozzo-validation/v4"
	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/dbutils"
	"github.com/pocketbase/pocketbase/tools/list"
)

// A relation that an admin adds to the contacts may lead to rows that belong to tenants: to other contacts, to
// webhooks, to a collection of the admin's own. PocketBase asks only whether such a row exists. A tenant could find out
// by that which ids others have, and the deletion of another's row would reach its contacts.

// errNoSuchRow is PocketBase's own verdict on the id of nobody: a row of another tenant is not there.
var errNoSuchRow = validation.NewError("validation_missing_rel_records", "Failed to find all relation records with the provided ids")

// validate returns PocketBase's verdict on the value of an admin's field, or ours where it has none. Ours is asked for
// in any case, so that the time of an answer tells no more than its text.
func validate(app core.App, record *core.Record, field core.Field) (wrong, err error) {
	wrong, err = checkOwner(app, record, field)
	if err != nil {
		return nil, err
	}
	if verdict := field.ValidateValue(context.Background(), app, record); verdict != nil {
		wrong = verdict
	}
	return wrong, nil
}

// checkOwner returns a fault where the field is a relation and leads to a row of another tenant. What is stored already
// is left alone, so that it does not stand in the way of other changes.
func checkOwner(app core.App, record *core.Record, field core.Field) (wrong, err error) {
	relation, ok := field.(*core.RelationField)
	if !ok {
		return nil, nil
	}
	stored := record.Original().GetStringSlice(relation.Name)
	added := slices.DeleteFunc(slices.Clone(record.GetStringSlice(relation.Name)), func(id string) bool { return slices.Contains(stored, id) })
	if len(added) == 0 || len(added) > max(relation.MaxSelect, 1) { // too many are refused without a look at them
		return nil, nil
	}
	own := len(added)
	err = withCollection(app, relation.CollectionId, func(target *core.Collection) error {
		owned := OwnedBy(record.Collection(), target, "{:tenant}")
		if owned == "" {
			return nil
		}
		return app.ConcurrentDB().Select("count(*)").From(target.Name + " r").
			Where(dbx.In("r.id", list.ToInterfaceSlice(added)...)).
			AndWhere(dbx.NewExp(owned, dbx.Params{"tenant": record.GetString("tenant")})).
			Row(&own)
	})
	if errors.Is(err, sql.ErrNoRows) { // there is no such collection any more
		return errNoSuchRow, nil
	}
	if err != nil {
		return nil, fmt.Errorf("looking whose rows the field %q leads to: %w", relation.Name, err)
	}
	if own != len(added) {
		return errNoSuchRow, nil
	}
	return nil, nil
}

// OwnedBy returns the SQL condition on a row r of the target collection to belong to a tenant, which is an expression, "" where the rows
// belong to no tenant in particular. contacts is the collection that tells which collection the tenants are in. Where the
// target has several relations to tenants the program's own decides, else all of them have to name the tenant.
func OwnedBy(contacts, target *core.Collection, tenant string) string {
	tenants := contacts.Fields.GetByName("tenant").(*core.RelationField).CollectionId // shipped, so that it is one
	if target.Id == tenants {
		return "r.`id` = " + tenant
	}
	var conditions []string
	for _, field := range target.Fields {
		relation, ok := field.(*core.RelationField)
		if !ok || relation.CollectionId != tenants {
			continue
		}
		list := strings.NewReplacer("[[", "", "]]", "").Replace(dbutils.JSONEach("r.`" + relation.Name + "`")) // also where it is not one
		condition := tenant + " IN (SELECT `value` FROM " + list + ")"
		if relation.System {
			return condition
		}
		conditions = append(conditions, condition)
	}
	return strings.Join(conditions, " AND ")
}
