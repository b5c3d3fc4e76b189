package contact

import (
	"errors"
	"fmt"
	"maps"
	"time"

	validation "github.com/pocketbase/ozzo-validation/v4"
	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/hook"

	"contactbase/internal/audit"
	"contactbase/internal/order"
	"contactbase/internal/relation"
	"contactbase/internal/sqlite"
	"contactbase/internal/tenant"
)

// Erase erases what is stored about contacts elsewhere, in the transaction that deletes them.
type Erase func(tx core.App, tenantID string, deleted *Contact) error

// Bind applies the rules and side effects of a plan to every contact that is written through its record. wake is
// called after each commit of a change, also of a plan's; it must not block.
func Bind(app core.App, erase Erase, wake func()) {
	app.OnRecordValidate(CollectionName).Bind(&hook.Handler[*core.RecordEvent]{
		Func: validateRecord, Priority: order.RulesApplied,
	})
	whole := hook.Handler[*core.ModelEvent]{Func: writeWhole, Priority: order.WrittenWhole}
	for _, on := range []func(...string) *hook.TaggedHook[*core.ModelEvent]{
		app.OnModelCreate, app.OnModelUpdate, app.OnModelDelete,
	} {
		handler := whole
		on(CollectionName).Bind(&handler)
	}
	app.OnRecordCreateExecute(CollectionName).BindFunc(createRecord)
	app.OnRecordUpdateExecute(CollectionName).BindFunc(updateRecord)
	app.OnRecordDeleteExecute(CollectionName).BindFunc(func(e *core.RecordEvent) error { return deleteWith(e, erase) })

	afterSuccess := func(e *core.RecordEvent) error {
		wake()
		return e.Next()
	}
	app.OnRecordAfterCreateSuccess(CollectionName).BindFunc(afterSuccess)
	app.OnRecordAfterUpdateSuccess(CollectionName).BindFunc(afterSuccess)
	app.OnRecordAfterDeleteSuccess(CollectionName).BindFunc(afterSuccess)

	afterCommit := &hook.Handler[*core.ModelEvent]{
		Id: "contactbaseAfterCommit",
		Func: func(e *core.ModelEvent) error {
			if e.App.IsTransactional() { // see announce
				e.App = app
			}
			return e.Next()
		},
		Priority: order.AppReplaced,
	}
	app.OnModelAfterCreateSuccess(CollectionName).Bind(afterCommit)
	app.OnModelAfterUpdateSuccess(CollectionName).Bind(afterCommit)
}

// validateRecord applies the rules of the API to every way of writing.
func validateRecord(e *core.RecordEvent) error {
	if err := normalizeRecord(e.Record); err != nil {
		return err
	}
	if err := tenant.Keep(e.Record); err != nil {
		return err
	}
	// Both verdicts are needed, so that a row of another tenant is answered like one that does not exist.
	// PocketBase's has priority.
	ours, err := checkRecord(e.App, e.Record)
	if err != nil {
		return err
	}
	err = e.Next()
	var verdict validation.Errors
	if len(ours) == 0 || err != nil && !errors.As(err, &verdict) {
		return err
	}
	maps.Copy(ours, verdict)
	return ours
}

func createRecord(e *core.RecordEvent) error {
	return sqlite.TransactRecord(e, func(tx core.App) error {
		if err := checkOwner(e.Record); err != nil {
			return err
		}
		now := time.Now()
		if err := placeRecord(tx, e.Record, now); err != nil {
			return err
		}
		if err := e.Next(); err != nil {
			return err
		}
		after := OfRecord(e.Record)
		return effectsOf(tx, e, &change{after: after, takesOver: after.ExternalID != "", now: now})
	})
}

func updateRecord(e *core.RecordEvent) error {
	return sqlite.TransactRecord(e, func(tx core.App) error {
		stored, err := storedOf(tx, e.Record) // the record's original may be older
		if err != nil {
			return err
		}
		if before, moved := e.Record.GetRaw(beforeField).(*core.Record); moved {
			stored = before
		}
		same, err := holdsSame(tx, e.Record, stored)
		if err != nil {
			return fmt.Errorf("comparing the contact %s with what is stored: %w", stored.Id, err)
		}
		if same { // nothing is written, as by Update, because callers see the time of the last change
			e.Record.SetRaw("updated", stored.GetRaw("updated"))
			return nil
		}
		before, now := OfRecord(stored), time.Now()
		changed, err := later(before, now)
		if err != nil {
			return err
		}
		setTime(e.Record, "updated", changed)
		if err := e.Next(); err != nil {
			return err
		}
		after := OfRecord(e.Record)
		takesOver := after.ExternalID != "" && after.ExternalID != before.ExternalID
		return effectsOf(tx, e, &change{before: before, after: after, takesOver: takesOver, now: now})
	})
}

// storedOf returns the stored record of a contact, or ErrNotFound. A contact of a deleted tenant is not found: it is
// about to be deleted, and a change would add an event.
func storedOf(tx core.App, record *core.Record) (*core.Record, error) {
	if err := checkOwner(record); err != nil {
		return nil, err
	}
	tenantID := record.GetString("tenant")
	there, err := sqlite.Value[bool](sqlite.ReaderOf(tx),
		"SELECT EXISTS (SELECT 1 FROM `tenants` WHERE `id` = ?)", tenantID)
	if err != nil {
		return nil, fmt.Errorf("looking for the tenant of the contact %s: %w", record.Id, err)
	}
	if !there {
		return nil, ErrNotFound
	}
	return findRecord(tx, record.Collection(), tenantID, record.Id)
}

// deleteWith deletes a record, and what is stored about the contact elsewhere.
func deleteWith(e *core.RecordEvent, erase Erase) error {
	return sqlite.TransactRecord(e, func(tx core.App) error {
		stored, err := storedOf(tx, e.Record)
		if err != nil {
			return err
		}
		c := OfRecord(stored)
		if err := relation.CheckUnused(tx, e.Record); err != nil {
			return err
		}
		if err := e.Next(); err != nil {
			return err
		}
		mergedInto, _ := e.Record.GetRaw(mergedIntoField).(string)
		if err := effectsOf(tx, e, &change{before: c, mergedInto: mergedInto, now: time.Now()}); err != nil {
			return err
		}
		return erase(tx, e.Record.GetString("tenant"), c)
	})
}

// mergedIntoField is where a record that is deleted keeps the id of the contact that it is merged into. No field's
// name starts with @.
const mergedIntoField = "@mergedInto"

// deleteRecord deletes a contact through its record. mergedInto is the id of the contact that it is merged
// into, "" for none.
func deleteRecord(tx core.App, tenantID, id, mergedInto string) error {
	collection, err := tx.FindCachedCollectionByNameOrId(CollectionName)
	if err != nil {
		return fmt.Errorf("finding the collection of contacts: %w", err)
	}
	record, err := findRecord(tx, collection, tenantID, id)
	if err != nil {
		return err
	}
	record.SetRaw(mergedIntoField, mergedInto)
	record.SetRaw(ownerField, ownerOf(tenantID, id))
	if err := relation.Refusal(tx.Delete(record)); err != nil {
		return fmt.Errorf("deleting the contact %s: %w", record.Id, err)
	}
	return nil
}

// effectsOf writes the side effects of a change that PocketBase makes to a record.
func effectsOf(tx core.App, e *core.RecordEvent, c *change) error {
	source := audit.ActorIn(e.Context).Source()
	return writeEffects(sqlite.TxOf(tx), e.Record.GetString("tenant"), source, []*change{c})
}
