package contactbase

import (
	"encoding/json"
	"fmt"
	"time"
)

// Event is a ContactCreated, ContactUpdated, ContactDeleted, Ping, WebhookFailing, WebhookRecovered, WebhookDisabled
// or KeyExpiring. Events of later versions and of the installation's extensions are an UnknownEvent.
type Event interface {
	// Head returns the fields of all events.
	Head() EventHead
}

// EventHead has the fields of all events.
type EventHead struct {
	ID        string    `json:"id"`   // the same for every webhook and every attempt
	Type      string    `json:"type"` // such as contact.created
	Timestamp time.Time `json:"timestamp"`

	// Erased reports whether the contact was deleted later. Only its ID is left.
	Erased bool `json:"erased"`

	// Source is what has made the change. It is nil in notices, in events from before version 1.1, and in those with
	// Erased.
	Source *Source `json:"source"`
}

// Source is what has made the change of an event.
type Source struct {
	Type  string `json:"type"`  // key, inbound, import, superuser, member, command, mcp, extension or system
	ID    string `json:"id"`    // of the API key, the inbound webhook or the import; "" for others
	Merge bool   `json:"merge"` // whether the change belongs to a merge
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
	Contact  Contact // after the change
	Previous Fields  // the changed fields with their old values
}

// ContactDeleted is the event contact.deleted.
type ContactDeleted struct {
	EventHead
	Contact    Contact // before its deletion
	MergedInto string  // the ID of the contact that it was merged into, "" for none
}

// Ping is the event webhook.ping, a test.
type Ping struct {
	EventHead
}

// WebhookFailing is the event webhook.failing. Only webhooks that select its type receive it. The same holds for
// WebhookRecovered, WebhookDisabled and KeyExpiring.
type WebhookFailing struct {
	EventHead
	Webhook NoticedWebhook
	Reason  string
}

// WebhookRecovered is the event webhook.recovered.
type WebhookRecovered struct {
	EventHead
	Webhook NoticedWebhook
}

// WebhookDisabled is the event webhook.disabled: the server disabled a webhook.
type WebhookDisabled struct {
	EventHead
	Webhook NoticedWebhook
	Reason  string
}

// KeyExpiring is the event key.expiring.
type KeyExpiring struct {
	EventHead
	Key     NoticedKey
	Expires time.Time
}

// NoticedWebhook is the webhook of such an event.
type NoticedWebhook struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	URL  string `json:"url"` // without its query
}

// NoticedKey is the API key of such an event.
type NoticedKey struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	Prefix string `json:"prefix"` // the start of the key
}

// UnknownEvent is an event of a type that this version of the client does not know, or of an extension of the
// installation. It can be ignored.
type UnknownEvent struct {
	EventHead
	Data json.RawMessage
}

// ParseEvent decodes an event. It does not verify its origin: see package webhook.
func ParseEvent(body []byte) (Event, error) {
	var from struct {
		EventHead
		Data       json.RawMessage `json:"data"`
		Previous   Fields          `json:"previous"`
		MergedInto string          `json:"mergedInto"`
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
		build = func(c Contact) Event { return ContactDeleted{head, c, from.MergedInto} }
	case "webhook.ping":
		return Ping{head}, nil
	case "webhook.failing", "webhook.recovered", "webhook.disabled", "key.expiring":
		return noticeIn(head, from.Data)
	default:
		return UnknownEvent{head, from.Data}, nil
	}
	contact, err := contactIn(head, from.Data)
	if err != nil {
		return nil, err
	}
	return build(contact), nil
}

// noticeIn reads an event that is not about a contact.
func noticeIn(head EventHead, data json.RawMessage) (Event, error) {
	var from struct {
		Webhook NoticedWebhook `json:"webhook"`
		Reason  string         `json:"reason"`
		Key     NoticedKey     `json:"key"`
		Expires time.Time      `json:"expires"`
	}
	if err := json.Unmarshal(data, &from); err != nil {
		return nil, fmt.Errorf("contactbase: the data of event %s: %w", head.ID, err)
	}
	switch head.Type {
	case "webhook.failing":
		return WebhookFailing{head, from.Webhook, from.Reason}, nil
	case "webhook.recovered":
		return WebhookRecovered{head, from.Webhook}, nil
	case "webhook.disabled":
		return WebhookDisabled{head, from.Webhook, from.Reason}, nil
	}
	return KeyExpiring{head, from.Key, from.Expires}, nil
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
