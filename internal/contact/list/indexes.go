package list

import (
	"errors"
	"fmt"
	"time"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact"
	"contactbase/internal/sqlite"
)

// indexedPerSecond is how many contacts a slow machine indexes in a second. SQLite builds an index in one transaction.
const indexedPerSecond = 100_000

// IndexTime returns how many contacts there are, and about how long building an index for all of them
// stops other writers.
func IndexTime(app core.App) (contacts int, pause time.Duration, err error) {
	contacts, err = sqlite.Value[int](sqlite.Direct(app.ConcurrentDB()), "SELECT count(*) FROM `contacts`")
	if err != nil {
		return 0, 0, fmt.Errorf("counting contacts: %w", err)
	}
	return contacts, time.Duration(contacts) * time.Second / indexedPerSecond, nil
}

// IndexName returns the name of the index that AddIndex adds for a field.
func IndexName(field string) string { return "idx_contacts_" + field }

// AddIndex adds the index by which lists are filtered by the field of that name. The index also has the default
// order, so that each page is read in order.
func AddIndex(app core.App, field string) error {
	return changeIndexes(app, func(contacts *core.Collection) string {
		contacts.AddIndex(IndexName(field), false, "`tenant`, `"+field+"`, `created`, `id`", "")
		return contacts.GetIndex(IndexName(field))
	})
}

// RemoveIndex removes the index that AddIndex added.
func RemoveIndex(app core.App, field string) error {
	return changeIndexes(app, func(contacts *core.Collection) string {
		contacts.RemoveIndex(IndexName(field))
		return "DROP INDEX `" + IndexName(field) + "`"
	})
}

// changeIndexes changes the indexes of the collection of contacts, and runs the statement that change returns. If
// PocketBase saved the changed list, it would build all indexes again, which takes several times as long. So the list
// is changed before.
func changeIndexes(app core.App, change func(contacts *core.Collection) (statement string)) error {
	err := app.RunInTransaction(func(tx core.App) error {
		contacts, err := tx.FindCollectionByNameOrId(contact.CollectionName)
		if err != nil {
			return err
		}
		if _, err := tx.DB().NewQuery(change(contacts)).Execute(); err != nil {
			return err
		}
		if _, err := tx.DB().Update(
			"_collections", dbx.Params{"indexes": contacts.Indexes}, dbx.HashExp{"id": contacts.Id},
		).Execute(); err != nil {
			return err
		}
		if err := tx.ReloadCachedCollections(); err != nil {
			return err
		}
		return tx.Save(contacts) // which tells other processes
	})
	if err != nil {
		return fmt.Errorf("changing the indexes of contacts: %w", errors.Join(err, app.ReloadCachedCollections()))
	}
	return nil
}
