package contact

import (
	"time"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/delivery"
	"contactbase/internal/event"
)

// Created writes what belongs to a new contact in the transaction that creates it: its search row, and the event with
// its deliveries. cause is the event of another installation that the change passes on, "" where it begins here.
func Created(tx core.App, tenantID string, c *Contact, cause string, now time.Time) error {
	if err := indexNew(tx, tenantID, c); err != nil {
		return err
	}
	return delivery.Emit(tx, &event.Event{Kind: event.ContactCreated, TenantID: tenantID, Contact: c.ID, Data: c, Cause: cause}, now)
}

// Changed is Created for a change of a contact. Where a caller can see no difference it does nothing.
func Changed(tx core.App, tenantID string, before, after *Contact, cause string, now time.Time) error {
	previous := after.Previous(before)
	if len(previous) == 0 {
		return nil
	}
	if searchText(before) != searchText(after) || before.Email != after.Email {
		if err := indexChanged(tx, after); err != nil {
			return err
		}
	}
	return delivery.Emit(tx, &event.Event{
		Kind: event.ContactUpdated, TenantID: tenantID, Contact: after.ID, Data: after, Previous: previous, Cause: cause,
	}, now)
}
