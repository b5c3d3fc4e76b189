package inbound

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"
)

// RequestsCollection is the collection of what was received.
const RequestsCollection = "inbound_requests"

// Receive applies a call and keeps a record of it, in one transaction. Header fields are never kept: senders put
// their own credentials into them.
func Receive(tx core.App, webhook *Webhook, contentType string, body []byte, now time.Time) (*Outcome, error) {
	payload, err := Decode(contentType, body, webhook.Mapping)
	if err != nil {
		return nil, err
	}
	outcome, err := Apply(tx, webhook, payload)
	if err != nil {
		return nil, err
	}
	if err := webhook.Touch(tx, now); err != nil {
		return nil, err
	}
	return outcome, Record(tx, webhook, contentType, body, 200, outcome, now)
}

// Record keeps what a call sent and what became of it. result encodes to JSON.
func Record(app core.App, webhook *Webhook, contentType string, body []byte, status int, result any, now time.Time) error {
	encoded, err := json.Marshal(result)
	if err != nil {
		return fmt.Errorf("encoding the result of an inbound request: %w", err)
	}
	_, err = app.DB().Insert(RequestsCollection, dbx.Params{
		"id":          core.GenerateDefaultRandomId(),
		"inbound":     webhook.ID,
		"tenant":      webhook.TenantID,
		"contentType": contentType[:min(len(contentType), 255)],
		"body":        strings.ToValidUTF8(string(body), "\uFFFD"),
		"status":      status,
		"result":      string(encoded),
		"created":     stored(now),
	}).Execute()
	if err != nil {
		return fmt.Errorf("keeping an inbound request: %w", err)
	}
	return nil
}

// Preview tells what a payload would do, with the contacts as they would be, without doing it.
func Preview(app core.App, webhook *Webhook, contentType string, body []byte) (*Outcome, error) {
	payload, err := Decode(contentType, body, webhook.Mapping)
	if err != nil {
		return nil, err
	}
	var outcome *Outcome
	undo := errors.New("preview")
	err = app.RunInTransaction(func(tx core.App) error {
		if outcome, err = apply(tx, webhook, payload, true); err != nil {
			return err
		}
		return undo
	})
	var refused *RefusedError
	switch {
	case errors.As(err, &refused):
		return refused.Outcome, nil
	case errors.Is(err, undo):
		return outcome, nil
	default:
		return nil, err
	}
}

// Stored is a request that was kept.
type Stored struct {
	WebhookID   string `db:"inbound"`
	ContentType string `db:"contentType"`
	Body        string `db:"body"`
}

// FindRequest returns a kept request; the error is sql.ErrNoRows where there is none.
func FindRequest(app core.App, id string) (*Stored, error) {
	request := &Stored{}
	err := app.DB().Select("inbound", "contentType", "body").From(RequestsCollection).Where(dbx.HashExp{"id": id}).One(request)
	return request, err
}
