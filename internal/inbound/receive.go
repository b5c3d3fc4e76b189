package inbound

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"
)

// RequestsCollection is the collection of what was received.
const RequestsCollection = "inbound_requests"

// Call is what a sender posted, read as far as it can be without the contacts.
type Call struct {
	webhook     *Webhook
	contentType string
	body        []byte
	batch       bool // of many items, as Payload has it
	items       []readItem
}

// Read decodes, maps and checks a call. It may take its time with a large body: it is not for a transaction, which
// all tenants wait for. The error is an *Error where the body is at fault.
func Read(app core.App, webhook *Webhook, contentType string, body []byte) (*Call, error) {
	if webhook.fault != nil {
		return nil, &Error{CodeValidation, "The mapping of this inbound webhook has to be corrected: " + webhook.fault.Error() + "."}
	}
	payload, err := Decode(contentType, body, webhook.Mapping)
	if err != nil {
		return nil, err
	}
	call := &Call{
		webhook: webhook, contentType: contentType, body: body,
		batch: payload.Batch, items: make([]readItem, 0, len(payload.Items)),
	}
	for i, item := range payload.Items {
		read, err := readOf(app, item)
		if err != nil {
			return nil, fmt.Errorf("reading item %d: %w", i, err)
		}
		call.items = append(call.items, read)
	}
	return call, nil
}

// shortCall is how many items are applied in a few milliseconds.
const shortCall = 20

// Short tells whether the call is applied in a few milliseconds, so that others need not be committed before it. A
// deletion may take longer: a relation of the admin's may have much go with the contact.
func (c *Call) Short() bool {
	return len(c.items) <= shortCall && !slices.ContainsFunc(c.items, func(item readItem) bool { return item.Action == Delete })
}

// Receive applies the call and keeps a record of it, in the caller's transaction. Header fields are never kept:
// senders put their own credentials into them. The error is ErrInvalidToken or ErrNotEnabled where the call may not be
// applied any more, and a *RefusedError where every item failed; nothing is written then.
func (c *Call) Receive(tx core.App, now time.Time) (*Outcome, error) {
	if err := c.webhook.authorize(tx); err != nil {
		return nil, err
	}
	outcome, err := c.apply(tx, false)
	if err != nil {
		return nil, err
	}
	if err := c.webhook.Touch(tx, now); err != nil {
		return nil, err
	}
	return outcome, Record(tx, c.webhook, c.contentType, c.body, 200, outcome, now)
}

// Preview tells what the call would do, with the contacts as they would be, without doing it.
func (c *Call) Preview(app core.App) (*Outcome, error) {
	var outcome *Outcome
	undo := errors.New("preview")
	err := app.RunInTransaction(func(tx core.App) (err error) {
		if outcome, err = c.apply(tx, true); err != nil {
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

// recordSQL keeps a request, unless its webhook or its tenant is gone meanwhile: nothing would ever delete it.
const recordSQL = "INSERT INTO {{inbound_requests}} ([[id]], [[inbound]], [[tenant]], [[contentType]], [[body]], [[status]], [[result]], [[created]]) " +
	"SELECT {:id}, w.[[id]], t.[[id]], {:contentType}, {:body}, {:status}, {:result}, {:created} " +
	"FROM {{inbound_webhooks}} w JOIN {{tenants}} t ON t.[[id]] = w.[[tenant]] WHERE w.[[id]] = {:inbound} AND t.[[id]] = {:tenant}"

// Record keeps what a call sent and what became of it. result encodes to JSON.
func Record(app core.App, webhook *Webhook, contentType string, body []byte, status int, result any, now time.Time) error {
	encoded, err := json.Marshal(result)
	if err != nil {
		return fmt.Errorf("encoding the result of an inbound request: %w", err)
	}
	_, err = app.DB().NewQuery(recordSQL).Bind(dbx.Params{
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
