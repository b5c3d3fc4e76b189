package server

import (
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/event"
)

// EventOption is an option of EmitEvent.
type EventOption func(*event.Event)

// WithContact names the contact that the event is about, by its ID; "" for none. The contact's page shows the event,
// deliveries of the contact's events stay in order, and when the contact is deleted, the data of the event is erased.
func WithContact(id string) EventOption {
	return func(e *event.Event) { e.Contact = id }
}

// DeclareEvent declares an event type that EmitEvent can then emit, such as order.paid. The dashboard and the portal
// show it with its sentence, such as "An order was paid". Call it before Execute. It panics if the type is invalid,
// belongs to Contactbase or exceeds the limit of 100 types, or if the server already listens.
func DeclareEvent(app core.App, kind, sentence string) {
	if err := event.Declare(app, kind, sentence); err != nil {
		panic("contactbase/server: " + err.Error())
	}
}

// EmitEvent emits an event of a tenant. It writes the event in the transaction of app, such as e.App inside a hook.
// After the commit, webhooks that list the type receive data, an object of at most 64 KiB of JSON, signed and retried
// like all events. EmitEvent returns an error and writes nothing if the type is not declared, the tenant does not exist
// or is moving, the contact belongs to another tenant, or the data is invalid.
func EmitEvent(app core.App, tenantID, kind string, data any, options ...EventOption) error {
	e := &event.Event{Kind: event.Kind(kind), TenantID: tenantID, Data: data}
	for _, option := range options {
		option(e)
	}
	return event.Emit(app, e)
}
