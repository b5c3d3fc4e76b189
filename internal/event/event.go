// Package event owns the outbox, and the feed that clients read from it. The outbox has a row for each event. The row
// is written in the transaction of the change, with the exact bytes that every receiver gets on every attempt.
package event

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"contactbase/internal/recordid"
	"contactbase/internal/sqlite"
	"contactbase/internal/stamp"
	"contactbase/internal/wire"
)

// CollectionName is the collection of events.
const CollectionName = "events"

// Kind is the kind of an event.
type Kind string

// The kinds of events.
const (
	ContactCreated Kind = "contact.created"
	ContactUpdated Kind = "contact.updated"
	ContactDeleted Kind = "contact.deleted"
	WebhookPing    Kind = "webhook.ping"

	WebhookFailing   Kind = "webhook.failing"
	WebhookRecovered Kind = "webhook.recovered"
	WebhookDisabled  Kind = "webhook.disabled"
	KeyExpiring      Kind = "key.expiring"
)

// reach says which receivers get the events of a kind, besides those that list it.
type reach int

const (
	byDefault reach = iota + 1 // also those without a list of kinds, which existing webhooks are
	ifListed                   // no others
)

// kinds has all kinds in the order in which users see them. Each says its reach: a webhook without a list should not
// receive a kind that its owner did not know.
var kinds = []struct {
	kind  Kind
	reach reach
}{
	{ContactCreated, byDefault},
	{ContactUpdated, byDefault},
	{ContactDeleted, byDefault},
	{WebhookPing, ifListed},
	{WebhookFailing, ifListed},
	{WebhookRecovered, ifListed},
	{WebhookDisabled, ifListed},
	{KeyExpiring, ifListed},
}

// Kinds lists the names of all kinds, in the order in which users see them.
var Kinds, defaults = func() (names []string, defaults map[Kind]bool) {
	defaults = map[Kind]bool{}
	for _, row := range kinds {
		names = append(names, string(row.kind))
		defaults[row.kind] = row.reach == byDefault
	}
	return names, defaults
}()

// ByDefault reports whether receivers without a list of kinds get events of the kind.
func (k Kind) ByDefault() bool { return defaults[k] }

// IDPrefix precedes the record id of an event wherever receivers see it.
const IDPrefix = "evt_"

// Event is a change of a tenant's data.
type Event struct {
	ID       string // of the record; set by Insert
	Kind     Kind
	TenantID string
	Contact  string         // id of the contact; "" for none
	Data     any            // the data of the payload; encoded by its method AppendJSON if it has one
	Previous map[string]any // old values of the changed fields; only for ContactUpdated
	Payload  string         // the body of every delivery; set by Insert

	MergedInto string // id of the contact that a deleted one was merged into; "" for none
	Source     Source
}

const insertSQL = "INSERT INTO `events` (`id`, `tenant`, `type`, `contact`, `payload`, `created`) " +
	"VALUES (?, ?, ?, ?, ?, ?)"

// Insert gives the event its id and payload, and returns the statement that writes it to the outbox.
func Insert(e *Event, now time.Time) (sqlite.Statement, error) {
	e.ID = recordid.New(now)
	body, err := e.appendPayload(make([]byte, 0, 1024), now)
	if err != nil {
		return sqlite.Statement{}, fmt.Errorf("encoding an event: %w", err)
	}
	e.Payload = string(body)
	return sqlite.Statement{
		Text: insertSQL,
		Args: []any{e.ID, e.TenantID, string(e.Kind), e.Contact, e.Payload, stamp.Stored(now)},
	}, nil
}

// Sample returns the record id and the payload of an event that is not stored. The payload has the properties of body,
// but an id, type and timestamp of its own.
func Sample(kind Kind, body map[string]json.RawMessage, now time.Time) (id string, payload []byte, err error) {
	id = recordid.New(now)
	payload = append(payload, `{"id":"`+IDPrefix+id+`","type":"`+string(kind)+`","timestamp":"`...)
	payload = append(stamp.AppendShown(payload, now), '"')
	for _, name := range slices.Sorted(maps.Keys(body)) {
		if name == "id" || name == "type" || name == "timestamp" {
			continue
		}
		payload = append(wire.AppendString(append(payload, ','), name), ':')
		if payload, err = wire.AppendJSON(payload, body[name]); err != nil {
			return "", nil, fmt.Errorf("encoding a sample: %w", err)
		}
	}
	return id, append(payload, '}'), nil
}

// appendPayload appends the body of every delivery of the event to b. The id, the kind and the time need no escaping.
func (e *Event) appendPayload(b []byte, now time.Time) (_ []byte, err error) {
	b = append(b, `{"id":"`+IDPrefix...)
	b = append(b, e.ID...)
	b = append(b, `","type":"`...)
	b = append(b, e.Kind...)
	b = append(b, `","timestamp":"`...)
	b = stamp.AppendShown(b, now)
	b = append(b, `","data":`...)
	if data, ok := e.Data.(interface{ AppendJSON([]byte) ([]byte, error) }); ok {
		b, err = data.AppendJSON(b)
	} else {
		b, err = wire.AppendJSON(b, e.Data)
	}
	if err != nil {
		return nil, err
	}
	if len(e.Previous) > 0 {
		if b, err = wire.AppendJSON(append(b, `,"previous":`...), e.Previous); err != nil {
			return nil, err
		}
	}
	if e.MergedInto != "" {
		b = wire.AppendString(append(b, `,"mergedInto":`...), e.MergedInto)
	}
	return append(e.Source.append(b), '}'), nil
}
