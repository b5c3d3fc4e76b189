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
