// Package relation knows the relations that admins add: fields of collections of their own, or on the shipped ones. A
// deletion that goes past PocketBase's cascade keeps to what they say.
package relation

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/dbutils"
	"github.com/pocketbase/pocketbase/tools/types"

	"contactbase/internal/fault"
)

// reference is a relation field of an admin's own: of a collection of theirs, or added to a shipped one.
type reference struct {
	collection *core.Collection
	field      *core.RelationField
}

// requiredPattern matches how PocketBase words that a record cannot be deleted.
var requiredPattern = regexp.MustCompile(`part of a required reference in record \S+ \((.+) collection\)`)

// Refusal returns a fault with the code InUse where PocketBase refused a deletion for a relation, if only one to what would
// have gone with the record, and any other error as it is.
func Refusal(err error) error {
	if err == nil {
		return nil
	}
	if found := requiredPattern.FindStringSubmatch(err.Error()); found != nil {
		return fault.New(fault.InUse, "a relation of the collection "+found[1]+" requires what would go with it")
	}
	return err
}

// CheckUnused returns a fault with the code InUse, which names the relation, where one of the admin's requires the record
// and does not go with it.
func CheckUnused(tx core.App, record *core.Record) error {
	references, err := referencesTo(tx, record.Collection())
	if err != nil {
		return err
	}
	for _, r := range references {
		if !r.field.Required || r.field.CascadeDelete {
			continue
		}
		required, err := r.requires(tx, record)
		if err != nil {
			return err
		}
		if required {
			return fault.New(fault.InUse, fmt.Sprintf("the relation %s of the collection %s requires it", r.field.Name, r.collection.Name))
		}
	}
	return nil
}

// referencesTo returns the admin's relations to a collection, in a fixed order.
func referencesTo(app core.App, target *core.Collection) ([]reference, error) {
	found, err := app.FindCachedCollectionReferences(target)
	if err != nil {
		return nil, fmt.Errorf("looking for relations to %s: %w", target.Name, err)
	}
	var references []reference
	for collection, fields := range found {
		for _, field := range fields {
			if relation, ok := field.(*core.RelationField); ok && !collection.IsView() && (!collection.System || !relation.System) {
				references = append(references, reference{collection, relation})
			}
		}
	}
	slices.SortFunc(references, func(a, b reference) int {
		return cmp.Or(cmp.Compare(a.collection.Name, b.collection.Name), cmp.Compare(a.field.Name, b.field.Name))
	})
	return references, nil
}

// requires reports whether there is a record whose relation names the given one and nothing else. A record that names itself
// does not count: it goes too.
func (r reference) requires(app core.App, record *core.Record) (bool, error) {
	query := app.RecordQuery(r.collection).AndWhere(r.names([]string{record.Id}))
	if r.field.IsMultiple() {
		query.AndWhere(dbx.NewExp("NOT EXISTS (SELECT 1 FROM "+dbutils.JSONEach(r.column())+" AS other WHERE [[other.value]] != {:id})", dbx.Params{"id": record.Id}))
	}
	if r.collection.Id == record.Collection().Id {
		query.AndWhere(dbx.Not(dbx.HashExp{r.collection.Name + ".id": record.Id}))
	}
	var found []*core.Record
	if err := query.Limit(1).All(&found); err != nil {
		return false, fmt.Errorf("looking who requires the record %s by %s of %s: %w", record.Id, r.field.Name, r.collection.Name, err)
	}
	return len(found) > 0, nil
}

// records returns up to limit records whose relation names one of the ids.
func (r reference) records(app core.App, ids []string, limit int) (records []*core.Record, err error) {
	if err := app.RecordQuery(r.collection).AndWhere(r.names(ids)).Limit(int64(limit)).All(&records); err != nil {
		return nil, fmt.Errorf("reading the relation %s of %s: %w", r.field.Name, r.collection.Name, err)
	}
	return records, nil
}

// names is the SQL condition on a record that its relation names one of the ids. Where the relation is to one record, an
// index on it serves.
func (r reference) names(ids []string) dbx.Expression {
	const wanted = " IN (SELECT [[value]] FROM json_each({:ids}))"
	condition := "[[" + r.column() + "]]" + wanted
	if r.field.IsMultiple() {
		condition = "EXISTS (SELECT 1 FROM " + dbutils.JSONEach(r.column()) + " AS own WHERE [[own.value]]" + wanted + ")"
	}
	return dbx.NewExp(condition, dbx.Params{"ids": types.JSONArray[string](ids)})
}

func (r reference) column() string { return r.collection.Name + "." + r.field.Name }

// Detach does to up to limit records that name one of the ids what PocketBase does when those are deleted: a relation
// that cascades deletes its record, any other forgets the id. It returns how many there were. A relation that requires
// the id forgets it as well: by now it is gone.
func Detach(tx core.App, target *core.Collection, ids []string, limit int) (found int, err error) {
	references, err := referencesTo(tx, target)
	if err != nil {
		return 0, err
	}
	for _, r := range references {
		records, err := r.records(tx, ids, limit-found)
		if err != nil {
			return found, err
		}
		for _, record := range records {
			if err := r.release(tx, record, ids); err != nil {
				return found, err
			}
		}
		if found += len(records); found >= limit {
			break
		}
	}
	return found, nil
}

func (r reference) release(tx core.App, record *core.Record, ids []string) error {
	left := without(record.GetStringSlice(r.field.Name), ids...)
	if len(left) == 0 && r.field.CascadeDelete {
		if err := tx.Delete(record); err != nil {
			return fmt.Errorf("deleting the record %s of %s: %w", record.Id, r.collection.Name, err)
		}
		return nil
	}
	record.Set(r.field.Name, left)
	if err := tx.SaveNoValidate(record); err != nil {
		return fmt.Errorf("detaching the record %s of %s: %w", record.Id, r.collection.Name, err)
	}
	return nil
}

func without(list []string, ids ...string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(id string) bool { return slices.Contains(ids, id) })
}
