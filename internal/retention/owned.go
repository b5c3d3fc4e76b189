package retention

import (
	"fmt"
	"slices"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact"
	"contactbase/internal/contact/search"
	"contactbase/internal/sqlite"
)

// ownedPage is how many records of a tenant are deleted together.
const ownedPage = 500

// owned deletes the tenant's records in a collection: first the dependents of each, then their files and the
// relations of admins to them, and then the records. Deleting record by record with PocketBase would take minutes,
// and would emit an event for each contact, for webhooks that are about to be deleted.
func (s sweep) owned(collection string, dependents func(sweep) error) error {
	target, err := s.app.FindCachedCollectionByNameOrId(collection)
	if err != nil {
		return err
	}
	for {
		var ids []string
		err := s.app.ConcurrentDB().Select("id").From(collection).
			Where(dbx.HashExp{"tenant": s.id}).Limit(ownedPage).Column(&ids)
		if err != nil || len(ids) == 0 {
			return err
		}
		for _, id := range ids {
			if dependents == nil {
				break
			}
			if err := dependents(sweep{s.ctx, s.app, s.deliveries, id}); err != nil {
				return err
			}
		}
		if err := s.files(target, ids); err != nil {
			return err
		}
		if err := s.detach(collection, ids...); err != nil {
			return err
		}
		if err := s.rows(target, ids); err != nil {
			return err
		}
	}
}

// files deletes the files of records, if the collection has a field for files.
func (s sweep) files(collection *core.Collection, ids []string) error {
	if !slices.ContainsFunc(collection.Fields, func(f core.Field) bool { return f.Type() == core.FieldTypeFile }) {
		return nil
	}
	storage, err := s.app.NewFilesystem()
	if err != nil {
		return fmt.Errorf("opening the file storage: %w", err)
	}
	defer func() { _ = storage.Close() }() // closing a list of files changes nothing
	for _, id := range ids {
		for _, err := range storage.DeletePrefix(collection.BaseFilesPath() + "/" + id) {
			return fmt.Errorf("deleting the files of the record %s: %w", id, err)
		}
	}
	return nil
}

// rows deletes records by their ids.
func (s sweep) rows(collection *core.Collection, ids []string) error {
	left := ids
	return sqlite.InChunks(s.ctx, s.app, func(tx core.App, limit int) (int, error) {
		some := left[:min(limit, len(left))]
		left = left[len(some):]
		if collection.Name == contact.CollectionName {
			for _, id := range some {
				if _, err := sqlite.Run(tx, search.Delete(id)); err != nil {
					return 0, fmt.Errorf("removing the contact %s from the search index: %w", id, err)
				}
			}
		}
		_, err := sqlite.Exec(tx,
			"DELETE FROM `"+collection.Name+"` WHERE `id` IN (SELECT `value` FROM json_each(?))", sqlite.List(some))
		return len(some), err
	})
}
