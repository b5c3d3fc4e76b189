package contactbase

import (
	"encoding/json"
	"fmt"
	"time"
)

// Event is something that happened: a ContactCreated, ContactUpdated, ContactDeleted or Ping. Later versions of an
// installation may know more kinds: those are an UnknownEvent.
type Event interface {
	// Head returns what all events have.
	Head() EventHead
}

// EventHead is what all events have.
type EventHead struct {
	ID        string    `json:"id"`   // the same whenever and to whomever the event is sent
	Type      string    `json:"type"` // such as contact.created
	Timestamp time.Time `json:"timestamp"`

	// Erased is whether the contact was deleted since: of it the ID is left, and nothing of what has changed.
	Erased bool `json:"erased"`
}

// Head returns the head itself.
func (h EventHead) Head() EventHead { return h }

// ContactCreated is the event contact.created.
type ContactCreated struct {
	EventHead
	Contact Contact
}

// ContactUpdated is the event contact.updated.
type ContactUpdated struct {
	EventHead
	Contact  Contact // as it is now
	Previous Fields  // what has changed, with the values from before
}

// ContactDeleted is the event contact.deleted.
type ContactDeleted struct {
	EventHead
	Contact Contact // as it was
}

// Ping is the event webhook.ping, a test.
type Ping struct {
	EventHead
}

// UnknownEvent is an event of a kind that this version of the client does not know. It can be ignored.
type UnknownEvent struct {
	EventHead
	Data json.RawMessage
}

// ParseEvent reads an event. Whether it comes from an installation is for the package webhook to tell.
func ParseEvent(body []byte) (Event, error) {
	var from struct {
		EventHead
		Data     json.RawMessage `json:"data"`
		Previous Fields          `json:"previous"`
	}
	if err := json.Unmarshal(body, &from); err != nil {
		return nil, fmt.Errorf("contactbase: the body is not an event: %w", err)
	}
	head := from.EventHead
	var build func(Contact) Event
	switch head.Type {
	case "contact.created":
		build = func(c Contact) Event { return ContactCreated{head, c} }
	case "contact.updated":
		build = func(c Contact) Event { return ContactUpdated{head, c, from.Previous} }
	case "contact.deleted":
		build = func(c Contact) Event { return ContactDeleted{head, c} }
	case "webhook.ping":
		return Ping{head}, nil
	default:
		return UnknownEvent{head, from.Data}, nil
	}
	contact, err := contactIn(head, from.Data)
	if err != nil {
		return nil, err
	}
	return build(contact), nil
}

// contactIn reads the contact that an event is about.
func contactIn(head EventHead, data json.RawMessage) (contact Contact, err error) {
	if err := json.Unmarshal(data, &contact); err != nil {
		return contact, fmt.Errorf("contactbase: the contact of event %s: %w", head.ID, err)
	}
	if contact.ID == "" {
		return contact, fmt.Errorf("contactbase: event %s has no contact", head.ID)
	}
	return contact, nil
}
