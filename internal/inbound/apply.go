package inbound

import (
	"errors"
	"maps"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact"
	"contactbase/internal/fault"
	"contactbase/internal/inbound/payload"
)

// Ignored is the status of an item that asked for nothing that this webhook may do, or for the deletion of a contact that does not exist.
const Ignored contact.Status = "ignored"

// Result is the result of one item.
type Result struct {
	Index    int              `json:"index"`
	Status   contact.Status   `json:"status"`
	ID       string           `json:"id,omitempty"`
	Error    *fault.Error     `json:"error,omitempty"`
	Warnings []string         `json:"warnings,omitempty"`
	Contact  *contact.Contact `json:"contact,omitempty"` // in a preview only
}

// Outcome is the result of a request.
type Outcome struct {
	Created   int      `json:"created"`
	Updated   int      `json:"updated"`
	Unchanged int      `json:"unchanged"`
	Deleted   int      `json:"deleted"`
	Ignored   int      `json:"ignored"`
	Failed    int      `json:"failed"`
	Results   []Result `json:"results"`
}

// apply applies the request in the caller's transaction. The error is ErrInvalidToken if the tenant was deleted.
func (r *Request) apply(tx core.App) (*Outcome, error) {
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
			items[i].Action = contact.Update
		}
	}
	return items
}

func invalid(fields fault.Fields) *fault.Error {
	return &fault.Error{Code: fault.ValidationFailed, Message: fields.Error(), Fields: fields}
}

// outcome returns the results for the sender. With show, they have the contacts.
func (r *Request) outcome(results []contact.Result, show bool, err error) (*Outcome, error) {
	if errors.Is(err, contact.ErrNoTenant) { // its text is about API keys
		return nil, ErrInvalidToken
	}
	if err != nil {
		return nil, err
	}
	outcome := &Outcome{Results: make([]Result, len(results))}
	for i, done := range results {
		result := resultOf(r.items[i], done)
		if result.Index = i; !show {
			result.Contact = nil
		}
		outcome.Results[i] = result
		outcome.count(&result)
	}
	outcome.shorten()
	return outcome, nil
}

func resultOf(item readItem, done contact.Result) Result {
	result := Result{Status: done.Status, Error: done.Wrong, Warnings: item.Warnings}
	if done.Wrong != nil {
		return result.explain(item)
	}
	result.ID = done.Contact.ID
	switch done.Status {
	case contact.Deleted:
		return result
	case contact.Created:
		result.Warnings = append(result.Warnings, item.create.warnings...)
	default:
		result.Warnings = append(result.Warnings, item.update.warnings...)
	}
	result.Contact = done.Contact
	return result
}

// explain says in the words of senders why an item failed. What senders cannot help is ignored.
func (r Result) explain(item readItem) Result {
	r.Warnings = append(r.Warnings, item.update.warnings...)
	switch {
	case r.Error == errNothing:
		r.Status, r.Error = Ignored, nil
	case r.Error == errNoDeletion:
		r.Status, r.Error, r.Warnings = Ignored, nil, append(r.Warnings, errNoDeletion.Message)
	case r.Error == contact.ErrNotFound && item.Action == contact.Delete:
		r.Status, r.Error = Ignored, nil
	case r.Error == contact.ErrNotFound && item.create.invalid != nil:
		r.Error = invalid(item.create.invalid)
	case r.Error == contact.ErrNotFound:
		r.Error = fault.New(fault.NotFound, "no contact has this ID")
	case r.Error.Code == fault.InUse:
		r.Error = fault.New(fault.InUse, "the contact cannot be deleted: "+r.Error.Message)
	case r.Error.Fields != nil:
		faults := maps.Clone(r.Error.Fields)
		for name := range faults { // a value that does not fit is not missing
			if wrong, ok := item.create.leftOut[name]; ok {
				faults[name] = wrong
			}
		}
		r.Error = invalid(faults)
		if r.Error.Fields["name"].Code == fault.CodeRequired && len(item.Missing) > 0 {
			r.Error.Message += "; " + payload.MissingWarning(item.Missing)
		}
	}
	return r
}

func (o *Outcome) count(result *Result) {
	counters := map[contact.Status]*int{
		contact.Created: &o.Created, contact.Updated: &o.Updated, contact.Unchanged: &o.Unchanged,
		contact.Deleted: &o.Deleted, Ignored: &o.Ignored, contact.Failed: &o.Failed,
	}
	*counters[result.Status]++
}
