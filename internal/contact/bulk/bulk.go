// Package bulk writes many contacts in one transaction. A failed write does not undo the others.
package bulk

import (
	"errors"
	"slices"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact"
	"contactbase/internal/fault"
)

// Action is what an item asks for.
type Action string

// The actions.
const (
	Create Action = "create"
	Update Action = "update" // of the contact with an id
	Upsert Action = "upsert" // of the oldest contact with the same external id or email address, or of a new one
)

// Item is one of the writes.
type Item struct {
	Action  Action
	ID      string // of the contact, for Update
	ByEmail bool   // whether Upsert finds the contact by its email address, and not by its external id
	Changes contact.Changes
	Wrong   *fault.Error // why the item is invalid; nil if it is valid
}

// The results of an item.
const (
	Created   = "created"
	Updated   = "updated"
	Unchanged = "unchanged"
	Failed    = "failed"
)

// Result is the result of an item.
type Result struct {
	Status  string
	Contact *contact.Contact // after the item; nil if the item failed
	Wrong   *fault.Error     // why the item failed
}

// Write applies the items in their order, in the transaction of tx. Later items see what earlier ones wrote. An item that fails writes
// nothing.
func Write(tx core.App, tenantID string, items []Item) ([]Result, error) {
	var externalIDs, emails []string
	for _, item := range items {
		externalIDs, emails = append(externalIDs, item.Key("externalId")), append(emails, item.Key("email"))
	}
	batch, err := contact.NewBatch(tx, tenantID, externalIDs, emails)
	if err != nil {
		return nil, err
	}
	results := make([]Result, len(items))
	for i, item := range items {
		if err := results[i].write(batch, item); err != nil {
			return nil, err
		}
	}
	return results, batch.Close()
}

// Key returns the text that the item sets a field to, "" for none.
func (i Item) Key(field string) string {
	value, _ := i.Changes[field].(string)
	return value
}

// write applies the item, and sets the result, at the latest when the batch is flushed.
func (r *Result) write(batch *contact.Batch, item Item) error {
	if item.Wrong != nil {
		r.fail(item.Wrong)
		return nil //nolint:nilerr // the item fails, the call continues
	}
	if item.Action == Upsert {
		found, err := match(batch, item)
		if err != nil && !errors.Is(err, contact.ErrNotFound) {
			return err
		}
		if err == nil {
			item.ID = found.ID
		}
	}
	if item.ID != "" {
		return r.update(batch, item)
	}
	batch.Create(item.Changes, func(c *contact.Contact, refused fault.Fields) { r.end(Created, c, refused) })
	return nil
}

func (r *Result) update(batch *contact.Batch, item Item) error {
	c, changed, err := batch.Update(item.ID, item.Changes)
	var refused fault.Fields
	switch {
	case errors.Is(err, contact.ErrNotFound):
		r.fail(contact.ErrNotFound)
	case err != nil && !errors.As(err, &refused):
		return err
	case changed:
		r.end(Updated, c, refused)
	default:
		r.end(Unchanged, c, refused)
	}
	return nil
}

// match returns the contact that an upsert finds, or contact.ErrNotFound.
func match(batch *contact.Batch, item Item) (*contact.Contact, error) {
	if item.ByEmail {
		return batch.FindByEmail(item.Key("email"))
	}
	return batch.FindByExternalID(item.Key("externalId"))
}

func (r *Result) end(status string, c *contact.Contact, refused fault.Fields) {
	if refused != nil {
		r.fail(fault.InvalidContact(refused))
		return
	}
	*r = Result{Status: status, Contact: c}
}

func (r *Result) fail(why *fault.Error) { *r = Result{Status: Failed, Wrong: why} }

// AnyFailed reports whether one of the items failed.
func AnyFailed(results []Result) bool {
	return slices.ContainsFunc(results, func(r Result) bool { return r.Wrong != nil })
}
