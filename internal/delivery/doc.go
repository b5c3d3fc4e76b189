// Package delivery brings events to webhooks.
//
// An event is queued for its webhooks in the transaction of what happened (Enqueue). The Engine claims what is due from
// a Queue, has a Sender make the attempts, and stores what came of them, with the next step that a Policy decides.
// docs/delivery.md draws the states and says why they are as they are.
//
// The package knows nothing of contacts but their ids: it carries bytes.
package delivery
