// Package event owns the outbox: one row for each thing that happened, written in the transaction in which it
// happened, with the exact bytes that every receiver gets on every attempt.
package event

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/types"
)

// CollectionName is the collection of events.
const CollectionName = "events"

// Kind is what happened.
type Kind string

// The kinds of events.
const (
	ContactCreated Kind = "contact.created"
	ContactUpdated Kind = "contact.updated"
	ContactDeleted Kind = "contact.deleted"
	WebhookPing    Kind = "webhook.ping"
)

// IDPrefix stands before an event's record id wherever receivers see it.
const IDPrefix = "evt_"

// Event is something that happened to a tenant's data.
type Event struct {
	ID       string // the record's id; set by Write
	Cause    string // the id, as receivers see it, of another installation's event that this one passes on; "" for none
	Kind     Kind
	TenantID string
	Contact  string         // the contact's id, "" where there is none
	Data     any            // encodes to the JSON of the payload's data
	Previous map[string]any // changed fields with their old values, on ContactUpdated only
}

// payload is the body of every delivery of the event.
type payload struct {
	ID        string         `json:"id"`
	Kind      Kind           `json:"type"`
	Timestamp string         `json:"timestamp"`
	Data      any            `json:"data"`
	Previous  map[string]any `json:"previous,omitempty"`
}

// Write writes the event to the outbox in the caller's transaction.
func Write(tx core.App, e *Event, now time.Time) error {
	created, err := types.ParseDateTime(now.UTC())
	if err != nil {
		return fmt.Errorf("stamping an event: %w", err)
	}
	if e.ID, err = newID(tx, e.Cause); err != nil {
		return err
	}
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	encoder.SetEscapeHTML(false)
	err = encoder.Encode(payload{
		ID:        IDPrefix + e.ID,
		Kind:      e.Kind,
		Timestamp: created.Time().Format("2006-01-02T15:04:05.000Z"),
		Data:      e.Data,
		Previous:  e.Previous,
	})
	if err != nil {
		return fmt.Errorf("encoding an event: %w", err)
	}
	_, err = tx.DB().Insert(CollectionName, dbx.Params{
		"id":      e.ID,
		"tenant":  e.TenantID,
		"type":    string(e.Kind),
		"contact": e.Contact,
		"payload": string(bytes.TrimRight(body.Bytes(), "\n")),
		"created": created.String(),
	}).Execute()
	if err != nil {
		return fmt.Errorf("writing an event to the outbox: %w", err)
	}
	return nil
}

// causePattern matches the ids that Write makes.
var causePattern = regexp.MustCompile(`^[a-z0-9]{15}$`)

// newID returns the id of an event: its cause's, so that a circle of installations recognises it, and a new one
// where there is none or another tenant here has that id.
func newID(tx core.App, cause string) (string, error) {
	id := strings.TrimPrefix(cause, IDPrefix)
	if !causePattern.MatchString(id) {
		return core.GenerateDefaultRandomId(), nil
	}
	taken, err := exists(tx, dbx.HashExp{"id": id})
	if err != nil || taken {
		return core.GenerateDefaultRandomId(), err
	}
	return id, nil
}

// Known tells whether the tenant has emitted the event with that id, as receivers see it.
func Known(app core.App, tenantID, id string) (bool, error) {
	return exists(app, dbx.HashExp{"id": strings.TrimPrefix(id, IDPrefix), "tenant": tenantID})
}

func exists(app core.App, where dbx.Expression) (bool, error) {
	var found int
	err := app.DB().Select("count(*)").From(CollectionName).Where(where).Row(&found)
	if err != nil {
		return false, fmt.Errorf("looking for an event: %w", err)
	}
	return found > 0, nil
}
