// Package delivery brings events to webhooks.
//
// A Store keeps the deliveries of events. The Engine claims due deliveries, a Sender makes the attempts, and the Engine stores their
// results with the next step, which a Policy decides. docs/delivery.md draws the states and gives the reasons.
//
// The package knows no SQL, and of contacts only their ids: payloads are bytes. The package store has the shipped Store; storetest tests
// that any other behaves the same.
package delivery
