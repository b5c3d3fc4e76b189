package inbound

import (
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/audit"
	"contactbase/internal/contact"
	"contactbase/internal/fault"
)

// apply applies the request in the caller's transaction. The error is ErrInvalidToken if the tenant was deleted.
func (r *Request) apply(tx core.App) (*Outcome, error) {
	tx = audit.As(tx, audit.Actor{Kind: audit.Inbound, ID: r.webhook.ID})
	results, err := contact.Write(tx, r.webhook.TenantID, r.contactItems())
	return r.outcome(results, false, err)
}

// Preview returns what the request would do, with the resulting contacts, without doing it.
func (r *Request) Preview(app core.App) (*Outcome, error) {
	results, err := contact.Preview(app, r.webhook.TenantID, r.contactItems())
	return r.outcome(results, true, err)
}

// Why items are ignored.
var (
	errNoDeletion = fault.New(fault.InvalidAction, "deletions need the access level full")
	errNothing    = fault.New(fault.ValidationFailed, "the preset takes no contact from the request")
)

const errMerged = "the contact was merged into another one, which is not deleted"

// contactItems returns what the items do to the contacts.
func (r *Request) contactItems() []contact.Item {
	items := make([]contact.Item, len(r.items))
	for i, item := range r.items {
		items[i] = contact.Item{Action: item.Action, Keys: item.Match, Changes: item.update.changes, New: item.create.changes}
		switch {
		case item.Err != nil:
			items[i].Wrong = item.Err
		case item.Ignored:
			items[i].Wrong = errNothing
		case item.Action == contact.Delete && r.webhook.Access != AccessFull:
			items[i].Wrong = errNoDeletion
		case item.update.invalid != nil:
			items[i].Wrong = invalid(item.update.invalid)
		case item.create.invalid != nil:
			items[i].Action = contact.Update // without what a new contact needs, the item can still update one: see explain
		}
	}
	return items
}

func invalid(fields fault.Fields) *fault.Error {
	return &fault.Error{Code: fault.ValidationFailed, Message: fields.Error(), Fields: fields}
}
