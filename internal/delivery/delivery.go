package delivery

import (
	"encoding/json"
	"time"

	"contactbase/internal/fault"
	"contactbase/internal/stamp"
)

// ErrErased means that nothing is left to send, because the contact was deleted and its data with it.
var ErrErased = fault.InvalidField("id", fault.CodeInvalidValue,
	"belongs to a contact that was deleted, and its stored events with it: there is nothing left to send")

// Delivery is a delivery as the superuser routes answer it.
type Delivery struct {
	ID          string
	Status      string
	Attempts    int
	NextAttempt time.Time // zero if there will be none
}

// MarshalJSON returns the delivery as the superuser routes answer it.
func (d *Delivery) MarshalJSON() ([]byte, error) {
	answer := struct {
		ID          string  `json:"id"`
		Status      string  `json:"status"`
		Attempts    int     `json:"attempts"`
		NextAttempt *string `json:"nextAttempt"`
	}{ID: d.ID, Status: d.Status, Attempts: d.Attempts}
	if !d.NextAttempt.IsZero() {
		next := stamp.Shown(d.NextAttempt)
		answer.NextAttempt = &next
	}
	return json.Marshal(answer)
}

// MarshalJSON returns the missed deliveries as the superuser routes answer them.
func (m Missed) MarshalJSON() ([]byte, error) {
	answer := struct {
		Count  int            `json:"count"`
		Types  map[string]int `json:"types"`
		Oldest *string        `json:"oldest"`
		Newest *string        `json:"newest"`
	}{Count: m.Count, Types: m.Types}
	if m.Count > 0 {
		oldest, newest := stamp.Shown(m.Oldest), stamp.Shown(m.Newest)
		answer.Oldest, answer.Newest = &oldest, &newest
	}
	return json.Marshal(answer)
}
