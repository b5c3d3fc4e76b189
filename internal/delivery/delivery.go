// Package delivery brings events to webhooks.
//
// It knows no SQL, and of contacts only their ids: payloads are bytes. A Queue keeps the deliveries; the package store
// has the shipped one, which storetest tests. docs/delivery.md draws the states of a delivery, and gives the reasons.
//
// # From an event to a request
//
// A change commits its event as a row, without deliveries. The fan-out cursor is the last event whose deliveries have
// rows. Fan-out (Queue.FanOut) decides who receives the events after the cursor, writes their deliveries as pending
// ones, and moves the cursor. The engine reads those that are due (Queue.Fetch), sends them, and stores the results
// (Queue.Commit). A failed delivery stays pending until the retry Policy gives up, and is fetched again when it is due.
//
// So there are two states: the cursor and the delivery's row. Whatever is killed, the next process fans out from the
// cursor and sends what is pending.
//
// # Who decides
//
// The dispatcher decides everything, and does nothing itself: it has no I/O, no clock and no locks, and only the
// goroutine of Engine.run calls it. Its method next names the next operation on the queue. Engine.perform runs that in
// a goroutine, one at a time, and the outcome goes back to the dispatcher:
//
//	poll    polled      when each endpoint has something to send: the agenda
//	fanOut  fannedOut   events have deliveries
//	Fetch   fetched     due deliveries; starts attempts
//	Commit  committed   the results of attempts are stored
//
// Each attempt runs in a goroutine of its own. Its response goes to dispatcher.answered, whose Result waits for the
// next Commit.
//
// # Claims
//
// A claim is a delivery that the dispatcher has taken, from its fetch until its result is committed. Claims bound what
// is in flight: in all, for a tenant (tenantCapacity), and for an endpoint (limiter). A first attempt waits while
// another claim has its contact and webhook, so that a contact's events arrive in order. Claims exist only in memory.
// After a crash, their deliveries are fetched once more, and keep their ids.
//
// # The wake
//
// A writer that commits an event, or makes a delivery due, calls Engine.Wake afterwards. Wake puts a value into a
// channel that has room for one, so it never blocks, and many calls count as one. The dispatcher then wants to poll, to
// fetch and to fan out, and does each once its own pause is over. Once a second it does so without a call, for the
// writes of other processes. Retries need no wake: the dispatcher knows from its agenda when the next one is due
// (schedule).
package delivery

import (
	"contactbase/internal/fault"
	"contactbase/internal/stamp"
)

// ErrErased means that nothing is left to send, because the contact was deleted and its data with it.
var ErrErased = fault.InvalidField("id", fault.CodeInvalidValue,
	"belongs to a contact that was deleted, and its stored events with it: there is nothing left to send")

// Delivery is a delivery as the superuser routes return it.
type Delivery struct {
	ID          string     `json:"id"`
	Status      string     `json:"status"`
	Attempts    int        `json:"attempts"`
	NextAttempt stamp.Time `json:"nextAttempt"`
}
