// Package inbound lets the calls of other systems in, applies what they ask for in a transaction, and keeps what was
// received. What is in a call is read by the package payload.
package inbound

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/fault"
	"contactbase/internal/inbound/payload"
	"contactbase/internal/sqlite"
)

// Call is what a sender posted, read as far as it can be without the contacts.
type Call struct {
	webhook     *Webhook
	contentType string
	body        []byte
	people      []string // whose addresses are in the body, see peopleIn
	batch       bool     // of many items, as payload.Payload has it
	items       []readItem
}

// Read decodes, maps and checks a call. It may take its time with a large body: it is not for a transaction, which
// all tenants wait for. The error is a *fault.Error where the body is at fault.
func Read(app core.App, webhook *Webhook, contentType string, body []byte) (*Call, error) {
	if webhook.unusable != nil {
		return nil, fault.New(fault.ValidationFailed, "The mapping of this inbound webhook has to be corrected: "+webhook.unusable.Error()+".")
	}
	decoded, err := payload.Decode(contentType, body, webhook.Mapping)
	if err != nil {
		return nil, err
	}
	call := &Call{
		webhook: webhook, contentType: contentType, body: body, people: peopleIn(webhook.TenantID, contentType, body),
		batch: decoded.Batch, items: make([]readItem, 0, len(decoded.Items)),
	}
	for i, item := range decoded.Items {
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

// isShort reports whether the call is applied in a few milliseconds, so that others need not be committed before it. A
// deletion may take longer: a relation of the admin's may have much go with the contact.
func (c *Call) isShort() bool {
	return len(c.items) <= shortCall && !slices.ContainsFunc(c.items, func(item readItem) bool { return item.Action == payload.Delete })
}

// Receipt is what remains of a call that was applied.
type Receipt struct {
	Outcome *Outcome
	Result  []byte // the outcome as JSON
	Request string // the id of the request that was kept
}

// Receive applies the call and keeps a record of it, in the caller's transaction. Header fields are never kept:
// senders put their own credentials into them. The error is ErrInvalidToken or ErrNotEnabled where the call may not be
// applied any more, and another *fault.Error where every item failed; nothing is written then.
func (c *Call) Receive(tx core.App, now time.Time) (*Receipt, error) {
	if err := c.webhook.authorize(tx); err != nil {
		return nil, err
	}
	outcome, err := c.apply(tx, false)
	if err == nil {
		err = c.refusal(outcome)
	}
	if err != nil {
		return nil, err
	}
	if err := c.webhook.Touch(tx, now); err != nil {
		return nil, err
	}
	result, err := json.Marshal(outcome)
	if err != nil {
		return nil, fmt.Errorf("encoding the result of an inbound request: %w", err)
	}
	kept := newRequest(c.webhook, c.contentType, c.body, c.people, now)
	kept.status, kept.result = http.StatusOK, result
	for _, r := range outcome.Results {
		if r.ID != "" {
			kept.people = append(kept.people, r.ID)
		}
	}
	if outcome.Deleted > 0 { // the deletion of a contact erases what is stored about it, and this comes after it
		if err := kept.erase(); err != nil {
			return nil, err
		}
	}
	return &Receipt{Outcome: outcome, Result: result, Request: kept.id}, kept.insert(tx)
}

// Transact runs do, which applies the call, in a transaction. do may be called twice: see sqlite.Transact.
func (c *Call) Transact(app core.App, do func(tx core.App) error) error {
	if c.isShort() {
		return sqlite.Transact(app, do)
	}
	return app.RunInTransaction(do)
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
	if !errors.Is(err, undo) {
		return nil, err
	}
	return outcome, nil
}
