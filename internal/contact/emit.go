package contact

import (
	"fmt"
	"time"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/delivery/store"
	"contactbase/internal/event"
	"contactbase/internal/sqlite"
)

// Created writes what belongs to a new contact in the transaction that creates it: its search row, and the event with
// its deliveries. cause is the event of another installation that the change passes on, "" where it begins here.
func Created(tx core.App, tenantID string, c *Contact, cause string, now time.Time) error {
	statements, err := created(sqlite.ReaderOf(tx), tenantID, c, cause, now)
	return run(tx, c.ID, statements, err)
}

// Changed is Created for a change of a contact. Where a caller can see no difference it does nothing.
func Changed(tx core.App, tenantID string, before, after *Contact, cause string, now time.Time) error {
	statements, err := changed(sqlite.ReaderOf(tx), tenantID, before, after, cause, now)
	return run(tx, after.ID, statements, err)
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

// created returns the statements of Created.
func created(tx sqlite.Reader, tenantID string, c *Contact, cause string, now time.Time) ([]sqlite.Statement, error) {
	emission, err := store.PlanEmit(tx, createdEvent(tenantID, c, cause), now)
	return append([]sqlite.Statement{indexNew(tenantID, c)}, emission...), err
}

func createdEvent(tenantID string, c *Contact, cause string) *event.Event {
	return &event.Event{Kind: event.ContactCreated, TenantID: tenantID, Contact: c.ID, Data: c, Cause: cause}
}

// changed returns the statements of Changed.
func changed(tx sqlite.Reader, tenantID string, before, after *Contact, cause string, now time.Time) ([]sqlite.Statement, error) {
	e := changedEvent(tenantID, before, after, cause)
	if e == nil {
		return nil, nil
	}
	emission, err := store.PlanEmit(tx, e, now)
	return append(reindex(before, after), emission...), err
}

// changedEvent returns nil where a caller can see no difference.
func changedEvent(tenantID string, before, after *Contact, cause string) *event.Event {
	previous := after.Previous(before)
	if len(previous) == 0 {
		return nil
	}
	return &event.Event{Kind: event.ContactUpdated, TenantID: tenantID, Contact: after.ID, Data: after, Previous: previous, Cause: cause}
}

func reindex(before, after *Contact) []sqlite.Statement {
	if searchText(before) == searchText(after) && before.Email == after.Email {
		return nil
	}
	return []sqlite.Statement{indexChanged(after)}
}
