// Package inbound authenticates other systems' requests, applies them in a transaction, and stores them. Package
// payload reads their bodies.
package inbound

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact"
	"contactbase/internal/fault"
	"contactbase/internal/inbound/payload"
	"contactbase/internal/quota"
	"contactbase/internal/sqlite"
	"contactbase/internal/tenant"
)

// Request is a sender's request, as far as it can be read without the contacts.
type Request struct {
	webhook *Webhook
	sent    payload.Kept
	kept    *row   // nil until the request is to be stored
	note    string // see payload.Payload
	batch   bool   // of many items, as payload.Payload has it
	items   []readItem
}

// Read decodes, maps and checks a request. Do not call it in a transaction, for which all tenants wait: a large body
// takes long. The error is a *fault.Error if the body is invalid.
func Read(app core.App, webhook *Webhook, contentType string, body []byte) (*Request, error) {
	if webhook.unusable != nil {
		return nil, fault.New(fault.ValidationFailed,
			"This inbound webhook's mapping is invalid; correct it: "+webhook.unusable.Error()+".")
	}
	own, err := customFields(app)
	if err != nil {
		return nil, err
	}
	decoded, err := payload.Decode(contentType, body, webhook.Mapping, own...)
	if payload.IsEmpty(err) && webhook.isOfSender() {
		decoded, err = payload.Nothing(), nil
		decoded.Kept.ContentType = contentType
	}
	if err != nil {
		return nil, err
	}
	country, err := tenant.CountryOf(app, webhook.TenantID)
	if err != nil {
		return nil, err
	}
	request := &Request{
		webhook: webhook, sent: decoded.Kept, batch: decoded.Batch, note: decoded.Note,
		items: make([]readItem, 0, len(decoded.Items)),
	}
	for i, item := range decoded.Items {
		readPhone(&item, country)
		read, err := readOf(app, item, country)
		if err != nil {
			return nil, fmt.Errorf("reading item %d: %w", i, err)
		}
		request.items = append(request.items, read)
	}
	return request, nil
}

// isShort reports whether the request may share a commit. A deletion may take long: an admin's relation may cascade.
func (r *Request) isShort() bool {
	return len(r.items) <= contact.ShortRequest &&
		!slices.ContainsFunc(r.items, func(item readItem) bool { return item.Action == contact.Delete })
}

// Receipt is what is stored of an applied request.
type Receipt struct {
	Outcome *Outcome
	Result  []byte // the outcome as JSON
	Request string // the id of the stored request
}

// Receive applies the request and stores it, in the caller's transaction. It never stores headers, which may contain
// the sender's credentials. The error is ErrInvalidToken or tenant.ErrNotEnabled if the request may no longer be
// applied, and another *fault.Error if all items failed; nothing is written then.
func (r *Request) Receive(tx core.App, now time.Time) (*Receipt, error) {
	if err := r.webhook.authorize(tx); err != nil {
		return nil, err
	}
	outcome, err := r.apply(tx)
	if err == nil {
		err = r.refusal(outcome)
	}
	if err != nil {
		return nil, err
	}
	if err := r.webhook.Touch(tx, now); err != nil {
		return nil, err
	}
	result, err := json.Marshal(outcome)
	if err != nil {
		return nil, fmt.Errorf("encoding the result of an inbound request: %w", err)
	}
	r.pack()
	kept := *r.kept
	kept.status, kept.result, kept.created, kept.people = http.StatusOK, result, now, slices.Clone(r.kept.people)
	for _, result := range outcome.Results {
		if result.ID != "" {
			kept.people = append(kept.people, result.ID)
		}
	}
	if outcome.Deleted > 0 { // deleting a contact erases what is stored about it, and this is stored afterwards
		if err := kept.erase(); err != nil {
			return nil, err
		}
	}
	stored, err := kept.insert(tx)
	if err == nil && !stored { // deleted meanwhile, as by an admin's trigger
		err = ErrInvalidToken
	}
	return &Receipt{Outcome: outcome, Result: result, Request: kept.id}, err
}

// pack prepares what is stored of the request.
func (r *Request) pack() {
	if r.kept == nil {
		r.kept = newRow(r.webhook, r.sent, len(r.items))
	}
}

// Transact runs do, which applies the request, in a transaction. do may be called twice: see sqlite.Transact.
func (r *Request) Transact(ctx context.Context, app core.App, do func(tx core.App) error) error {
	r.pack() // before all tenants wait
	err := sqlite.Transact(ctx, app, r.webhook.TenantID, r.isShort(), do)
	if err != nil {
		return err
	}
	// the request is applied, whatever happens now, and the sweeper trims again
	if err := quota.Trim(ctx, app, r.webhook.TenantID); err != nil && ctx.Err() == nil {
		app.Logger().Error("evicting the oldest requests", "tenant", r.webhook.TenantID, "error", err)
	}
	return nil
}
