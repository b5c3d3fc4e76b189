// Package delivery brings events to webhooks.
//
// A Store keeps events' deliveries. The Engine claims what is due, has a Sender make the attempts, and stores what came of
// them, with the next step that a Policy decides. docs/delivery.md draws the states and says why they are as they are.
//
// The package knows no SQL, and nothing of contacts but their ids: it carries bytes. The package store is the Store that is
// shipped; storetest holds any other to the same behaviour.
package delivery
