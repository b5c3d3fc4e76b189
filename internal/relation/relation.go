// Package relation applies the rules of relations that admins have added, in their own collections or in the shipped
// ones, to deletions that bypass PocketBase's cascade.
package relation

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"slices"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/dbutils"
	"github.com/pocketbase/pocketbase/tools/types"

	"contactbase/internal/fault"
	"contactbase/internal/sqlite"
)

// reference is a relation field that an admin has added.
type reference struct {
	collection *core.Collection
	field      *core.RelationField
}

// requiredPattern matches PocketBase's error for a record that a relation requires, which has no type.
var requiredPattern = regexp.MustCompile(`part of a required reference in record \S+ \((.+) collection\)`)

// Refusal converts PocketBase's error for a deletion that a relation forbids to a fault with the code InUse, and
// returns any other error unchanged. The relation may be to a record that the deletion would cascade to.
func Refusal(err error) error {
	if err == nil {
		return nil
	}
	if found := requiredPattern.FindStringSubmatch(err.Error()); found != nil {
		return fault.New(fault.InUse,
			"a relation of the collection "+found[1]+" requires a record that would be deleted with it")
	}
	return err
}

// CheckUnused returns a fault with the code InUse, which names the relation, if a relation of an admin requires the
// record and does not cascade.
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
			return fault.New(fault.InUse,
				fmt.Sprintf("the relation %s of the collection %s requires it", r.field.Name, r.collection.Name))
		}
	}
	return nil
}

// CountRequired returns how many of the records with these ids CheckUnused refuses.
func CountRequired(app core.App, target *core.Collection, ids []string) (int, error) {
	references, err := referencesTo(app, target)
	if err != nil || len(ids) == 0 {
		return 0, err
	}
	required := map[string]bool{}
	for _, r := range references {
		if !r.field.Required || r.field.CascadeDelete {
			continue
		}
		found, err := r.requiredOf(app, target, ids)
		if err != nil {
			return 0, err
		}
		for _, id := range found {
			required[id] = true
		}
	}
	return len(required), nil
}

// requiredOf returns those of the ids that are the only one in the relation of another record.
func (r reference) requiredOf(app core.App, target *core.Collection, ids []string) (found []string, err error) {
	own := "[[" + r.column() + "]]"
	query := app.RecordQuery(r.collection).AndWhere(r.has(ids))
	if r.field.IsMultiple() {
		own = "json_extract(" + own + ", '$[0]')"
		query.AndWhere(dbx.NewExp("json_array_length([[" + r.column() + "]]) = 1"))
	}
	if r.collection.Id == target.Id {
		query.AndWhere(dbx.NewExp("[[" + r.collection.Name + ".id]] != " + own))
	}
	if err := query.Select(own).Distinct(true).Column(&found); err != nil {
		return nil, fmt.Errorf("reading what the relation %s of %s requires: %w", r.field.Name, r.collection.Name, err)
	}
	return found, nil
}

// Exists reports whether an admin has added a relation to a collection.
func Exists(app core.App, target *core.Collection) (bool, error) {
	references, err := referencesTo(app, target)
	return len(references) > 0, err
}

// referencesTo returns the relations of admins to a collection, ordered by name.
func referencesTo(app core.App, target *core.Collection) ([]reference, error) {
	found, err := app.FindCachedCollectionReferences(target)
	if err != nil {
		return nil, fmt.Errorf("looking for relations to %s: %w", target.Name, err)
	}
	var references []reference
	for collection, fields := range found {
		for _, field := range fields {
			if relation, ok := field.(*core.RelationField); ok &&
				!collection.IsView() && (!collection.System || !relation.System) {
				references = append(references, reference{collection, relation})
			}
		}
	}
	slices.SortFunc(references, func(a, b reference) int {
		return cmp.Or(cmp.Compare(a.collection.Name, b.collection.Name), cmp.Compare(a.field.Name, b.field.Name))
	})
	return references, nil
}

// requires reports whether another record's relation has the given record and no other one.
func (r reference) requires(app core.App, record *core.Record) (bool, error) {
	query := app.RecordQuery(r.collection).AndWhere(r.has([]string{record.Id}))
	if r.field.IsMultiple() {
		query.AndWhere(dbx.NewExp(
			"NOT EXISTS (SELECT 1 FROM "+dbutils.JSONEach(r.column())+" AS other WHERE [[other.value]] != {:id})",
			dbx.Params{"id": record.Id},
		))
	}
	if r.collection.Id == record.Collection().Id {
		query.AndWhere(dbx.Not(dbx.HashExp{r.collection.Name + ".id": record.Id}))
	}
	var found []*core.Record
	if err := query.Limit(1).All(&found); err != nil {
		return false, fmt.Errorf("checking whether the record %s is required by %s of %s: %w",
			record.Id, r.field.Name, r.collection.Name, err)
	}
	return len(found) > 0, nil
}

// records returns up to limit records whose relation has one of the ids.
func (r reference) records(app core.App, ids []string, limit int) (records []*core.Record, err error) {
	if err := app.RecordQuery(r.collection).AndWhere(r.has(ids)).Limit(int64(limit)).All(&records); err != nil {
		return nil, fmt.Errorf("reading the relation %s of %s: %w", r.field.Name, r.collection.Name, err)
	}
	return records, nil
}

// has returns the SQL condition that the relation of a record has one of the ids. An index on a single
// relation serves it.
func (r reference) has(ids []string) dbx.Expression {
	const wanted = " IN (SELECT [[value]] FROM json_each({:ids}))"
	condition := "[[" + r.column() + "]]" + wanted
	if r.field.IsMultiple() {
		condition = "EXISTS (SELECT 1 FROM " + dbutils.JSONEach(r.column()) + " AS own WHERE [[own.value]]" + wanted + ")"
	}
	return dbx.NewExp(condition, dbx.Params{"ids": types.JSONArray[string](ids)})
}

func (r reference) column() string { return r.collection.Name + "." + r.field.Name }

// maxDetached is how many records Detach looks for at a time.
const maxDetached = 1_000

// Detach does what PocketBase does after the records with these ids are deleted, for the records that have a relation
// to one of them. A cascading relation deletes its record if it has no other id left, and any other relation drops
// the ids, even if it requires one. Relations within the collection stay: the caller deletes their records, too. It
// returns the number of records.
//
// It finds them without the writer lock, because a relation without an index reads its whole collection, and then
// changes them in chunks. It stops between two of them when ctx ends.
func Detach(ctx context.Context, app core.App, target *core.Collection, ids []string) (found int, err error) {
	references, err := referencesTo(app, target)
	if err != nil {
		return 0, err
	}
	for _, r := range references {
		if r.collection.Id == target.Id {
			continue
		}
		for more := true; more; {
			records, err := r.recordIDs(app, ids)
			if err != nil {
				return found, err
			}
			found, more = found+len(records), len(records) == maxDetached
			err = sqlite.InChunks(ctx, app, func(tx core.App, limit int) (int, error) {
				some := records[:min(limit, len(records))]
				records = records[len(some):]
				return len(some), r.detach(tx, some, ids)
			})
			if err != nil {
				return found, err
			}
		}
	}
	return found, nil
}

// recordIDs returns the ids of the first records whose relation has one of the ids.
func (r reference) recordIDs(app core.App, ids []string) (records []string, err error) {
	query := app.RecordQuery(r.collection).Select(r.collection.Name + ".id").AndWhere(r.has(ids)).Limit(maxDetached)
	if err := query.Column(&records); err != nil {
		return nil, fmt.Errorf("reading the relation %s of %s: %w", r.field.Name, r.collection.Name, err)
	}
	return records, nil
}

// detach drops the ids from the relation of records that still exist.
func (r reference) detach(tx core.App, records, ids []string) error {
	for _, id := range records {
		record, err := tx.FindRecordById(r.collection, id)
		if err == nil {
			err = r.drop(tx, record, ids)
		}
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
	}
	return nil
}

func (r reference) drop(tx core.App, record *core.Record, ids []string) error {
	left := slices.DeleteFunc(slices.Clone(record.GetStringSlice(r.field.Name)), func(id string) bool {
		return slices.Contains(ids, id)
	})
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
