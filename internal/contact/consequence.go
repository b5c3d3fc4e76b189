package contact

import (
	"fmt"
	"slices"
	"time"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact/search"
	"contactbase/internal/event"
	"contactbase/internal/sqlite"
)

// consequence is what follows a change of a contact, whichever way it is written, in the same transaction.
type consequence struct {
	contactID string
	search    []sqlite.Statement // has the search row follow
	event     *event.Event       // nil where a caller can see no difference
}

// creation is what follows a new contact. cause is the event of another installation that the change passes on, "" where
// it begins here.
func creation(tenantID string, c *Contact, cause string) consequence {
	return consequence{c.ID, []sqlite.Statement{search.Insert(searchRow(tenantID, c))}, &event.Event{
		Kind: event.ContactCreated, TenantID: tenantID, Contact: c.ID, Data: c, Cause: cause,
	}}
}

// change is what follows a change of a contact: nothing where a caller can see no difference.
func change(tenantID string, before, after *Contact, cause string) consequence {
	previous := after.Previous(before)
	if len(previous) == 0 {
		return consequence{contactID: after.ID}
	}
	follows := consequence{contactID: after.ID, event: &event.Event{
		Kind: event.ContactUpdated, TenantID: tenantID, Contact: after.ID, Data: after, Previous: previous, Cause: cause,
	}}
	if row := searchRow(tenantID, after); row != searchRow(tenantID, before) {
		follows.search = []sqlite.Statement{search.Update(row)}
	}
	return follows
}

// deletion is what follows the deletion of a contact.
func deletion(tenantID string, c *Contact, cause string) consequence {
	return consequence{c.ID, search.Delete(c.ID), &event.Event{
		Kind: event.ContactDeleted, TenantID: tenantID, Contact: c.ID, Data: c, Cause: cause,
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

// searchRow returns what the contact is found by.
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

// write writes the consequence in the caller's transaction.
func (f consequence) write(tx core.App, now time.Time) error {
	if f.event == nil {
		return nil
	}
	write, err := event.Plan(sqlite.ReaderOf(tx), f.event, now)
	return run(tx, f.contactID, append(slices.Clone(f.search), write), err)
}

func run(tx core.App, id string, statements []sqlite.Statement, err error) error {
	if err == nil {
		_, err = sqlite.Run(tx, statements)
	}
	if err != nil {
		return fmt.Errorf("writing what belongs to a change of the contact %s: %w", id, err)
	}
	return nil
}

// SearchRows returns the statement that writes the search rows of contacts whose own rows are written as they are. Each is a map from the
// columns to their values.
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
