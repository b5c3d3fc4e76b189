// Package delivery brings events to webhooks.
//
// A Queue keeps the deliveries of events. The Engine claims due deliveries, a Sender makes the attempts, and the Engine stores their
// results with the next step, which a Policy decides. docs/delivery.md draws the states and gives the reasons.
//
// The loop is Engine.run. dispatcher.next names the next operation on the queue, perform does it in a goroutine, and its outcome goes back
// to the dispatcher (fetched, committed, polled, fannedOut), which returns what to attempt. The answer to an attempt goes to
// dispatcher.answered, whose result waits for the next commit.
//
// The package knows no SQL, and of contacts only their ids: payloads are bytes. The package store has the shipped Queue, which
// storetest tests.
package delivery

import (
	"contactbase/internal/fault"
	"contactbase/internal/stamp"
)

// ErrErased means that nothing is left to send, because the contact was deleted and its data with it.
var ErrErased = fault.InvalidField("id", fault.CodeInvalidValue,
	"belongs to a contact that was deleted, and its stored events with it: there is nothing left to send")

// Delivery is a delivery as the superuser routes answer it.
type Delivery struct {
	ID          string     `json:"id"`
	Status      string     `json:"status"`
	Attempts    int        `json:"attempts"`
	NextAttempt stamp.Time `json:"nextAttempt"`
}
