package contact

import (
	"fmt"
	"time"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact/search"
	"contactbase/internal/event"
	"contactbase/internal/sqlite"
)

// sideEffects is what is written together with a contact, in the same transaction, however the contact is written.
type sideEffects struct {
	search []sqlite.Statement // that update the search row
	event  *event.Event       // nil if callers see no difference
}

// created returns the side effects of a new contact.
func created(tenantID string, c *Contact) sideEffects {
	return sideEffects{[]sqlite.Statement{search.Insert(searchRow(tenantID, c))}, &event.Event{
		Kind: event.ContactCreated, TenantID: tenantID, Contact: c.ID, Data: c,
	}}
}

// updated returns the side effects of a change, none if callers see no difference.
func updated(tenantID string, before, after *Contact) (effects sideEffects) {
	previous := after.Previous(before)
	if len(previous) == 0 {
		return effects
	}
	if old, row := searchRow(tenantID, before), searchRow(tenantID, after); row != old {
		effects.search = []sqlite.Statement{search.Update(old, row)}
	}
	effects.event = &event.Event{
		Kind: event.ContactUpdated, TenantID: tenantID, Contact: after.ID, Data: after, Previous: previous,
	}
	return effects
}

// deleted returns the side effects of the deletion of a record, which held the contact.
func deleted(record *core.Record, c *Contact) sideEffects {
	return sideEffects{search.Delete(c.ID), &event.Event{
		Kind: event.ContactDeleted, TenantID: record.GetString("tenant"), Contact: c.ID, Data: c,
		MergedInto: noted(record, mergedIntoField),
	}}
}

// searchedTexts and searchedNumbers are the fields that a search looks into.
var searchedTexts, searchedNumbers = func() (texts, numbers []*Field) {
	for _, field := range Fields {
		switch {
		case field.Searched && field.digits:
			numbers = append(numbers, field)
		case field.Searched:
			texts = append(texts, field)
		}
	}
	return texts, numbers
}()

// searchRow returns the search row of a contact.
func searchRow(tenantID string, c *Contact) search.Row {
	texts, numbers := make([]string, 0, 8), make([]string, 0, 2)
	for _, field := range searchedTexts {
		texts = append(texts, field.Value(c))
	}
	for _, field := range searchedNumbers {
		numbers = append(numbers, field.Value(c))
	}
	return search.Row{Contact: c.ID, Tenant: tenantID, Email: search.FoldEmail(c.Email), Text: search.Text(texts, numbers...)}
}

// write writes the side effects in the caller's transaction.
func (e sideEffects) write(tx core.App, now time.Time) error {
	if e.event == nil {
		return nil
	}
	emitted, err := event.Insert(e.event, now)
	if err == nil {
		_, err = sqlite.Run(tx, append(e.search, emitted))
	}
	if err != nil {
		return fmt.Errorf("writing the side effects of a change of the contact %s: %w", e.event.Contact, err)
	}
	return nil
}

// SearchRows returns the statement that writes the search rows of contacts whose own rows are written unchanged. Each contact is a map of
// column names to values.
func SearchRows(tenantID string, contacts []map[string]string) sqlite.Statement {
	rows := make([]search.Row, len(contacts))
	for i, columns := range contacts {
		c := &Contact{ID: columns["id"]}
		for _, field := range Fields {
			*field.of(c) = columns[field.Name]
		}
		rows[i] = searchRow(tenantID, c)
	}
	return search.InsertAll(rows)
}
