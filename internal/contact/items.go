package contact

import (
	"errors"
	"slices"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/fault"
)

// emailField is a field by which contacts are found, as externalIDField is.
const emailField = "email"

// Action is what an item of many asks for.
type Action string

// The actions.
const (
	ActionCreate Action = "create"
	ActionUpdate Action = "update" // of the contact with an id
	ActionUpsert Action = "upsert" // of the oldest contact with the same external id or email address, or of a new one
)

// Item is one of the writes of a batch.
type Item struct {
	Action  Action
	ID      string // of the contact, for ActionUpdate
	ByEmail bool   // whether ActionUpsert finds the contact by its email address, and not by its external id
	Changes Changes
	Wrong   *fault.Error // why it fails whatever contacts there are; nil if it is valid
}

// The results of an item.
const (
	ItemCreated   = "created"
	ItemUpdated   = "updated"
	ItemUnchanged = "unchanged"
	ItemFailed    = "failed"
)

// ItemResult is the result of an item.
type ItemResult struct {
	Status  string
	Contact *Contact     // after the item; nil if the item failed
	Wrong   *fault.Error // why the item failed
}

// WriteItems applies the items in their order, in the transaction of tx. Later items see what earlier ones wrote. An item that fails writes
// nothing.
func WriteItems(tx core.App, tenantID string, items []Item) ([]ItemResult, error) {
	var externalIDs, emails []string
	for _, item := range items {
		externalIDs, emails = append(externalIDs, item.key(externalIDField)), append(emails, item.key(emailField))
	}
	batch, err := NewBatch(tx, tenantID, externalIDs, emails)
	if err != nil {
		return nil, err
	}
	results := make([]ItemResult, len(items))
	for i, item := range items {
		if err := batch.write(item, &results[i]); err != nil {
			return nil, err
		}
	}
	return results, batch.Close()
}

// key returns the text that the item sets a field to, "" for none.
func (i Item) key(field string) string {
	value, _ := i.Changes[field].(string)
	return value
}

func (b *Batch) write(item Item, result *ItemResult) error {
	if item.Wrong != nil {
		result.fail(item.Wrong)
		return nil //nolint:nilerr // the item fails, the call continues
	}
	if item.Action == ActionUpsert {
		var err error
		if item.ID, err = b.match(item); err != nil {
			return err
		}
	}
	if item.ID != "" {
		return b.change(item, result)
	}
	b.Create(item.Changes, func(c *Contact, refused fault.Fields) { result.end(ItemCreated, c, refused) })
	return nil
}

func (b *Batch) change(item Item, result *ItemResult) error {
	c, changed, err := b.Update(item.ID, item.Changes)
	var refused fault.Fields
	switch {
	case errors.Is(err, ErrNotFound):
		result.fail(ErrNotFound)
	case err != nil && !errors.As(err, &refused):
		return err
	case changed:
		result.end(ItemUpdated, c, refused)
	default:
		result.end(ItemUnchanged, c, refused)
	}
	return nil
}

// match returns the id of the contact that an upsert finds, "" if there is none.
func (b *Batch) match(item Item) (string, error) {
	find, field := b.FindByExternalID, externalIDField
	if item.ByEmail {
		find, field = b.FindByEmail, emailField
	}
	found, err := find(item.key(field))
	switch {
	case errors.Is(err, ErrNotFound):
		return "", nil
	case err != nil:
		return "", err
	default:
		return found.ID, nil
	}
}

func (r *ItemResult) end(status string, c *Contact, refused fault.Fields) {
	if refused != nil {
		r.fail(fault.InvalidContact(refused))
		return
	}
	*r = ItemResult{Status: status, Contact: c}
}

func (r *ItemResult) fail(why *fault.Error) { *r = ItemResult{Status: ItemFailed, Wrong: why} }

// AnyFailed reports whether one of the items failed.
func AnyFailed(results []ItemResult) bool {
	return slices.ContainsFunc(results, func(r ItemResult) bool { return r.Wrong != nil })
}
