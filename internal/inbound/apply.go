package inbound

import (
	"errors"
	"fmt"
	"time"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact"
	"contactbase/internal/delivery"
	"contactbase/internal/event"
	"contactbase/internal/relation"
	"contactbase/internal/sqlite"
)

// What became of an item.
const (
	Created   = "created"
	Updated   = "updated"
	Unchanged = "unchanged"
	Deleted   = "deleted"
	Ignored   = "ignored"
	Failed    = "failed"
)

// The codes of a Fault beside those of ItemError.
const (
	CodeInvalidAction = "invalid_action"
	CodeNotFound      = "not_found"
	CodeInUse         = "in_use"
)

// Fault says why an item failed.
type Fault struct {
	Code    string              `json:"code"`
	Message string              `json:"message"`
	Fields  contact.FieldErrors `json:"fields,omitempty"`
}

// Result is what became of one item.
type Result struct {
	Index    int              `json:"index"`
	Status   string           `json:"status"`
	ID       string           `json:"id,omitempty"`
	Error    *Fault           `json:"error,omitempty"`
	Warnings []string         `json:"warnings,omitempty"`
	Contact  *contact.Contact `json:"contact,omitempty"` // in a preview only
}

// Outcome is what became of a call.
type Outcome struct {
	Created   int      `json:"created"`
	Updated   int      `json:"updated"`
	Unchanged int      `json:"unchanged"`
	Deleted   int      `json:"deleted"`
	Ignored   int      `json:"ignored"`
	Failed    int      `json:"failed"`
	Results   []Result `json:"results"`
}

// RefusedError means that every item of a call failed, so that nothing was written.
type RefusedError struct {
	Outcome *Outcome
	Batch   bool
}

// Error words the first failure.
func (e *RefusedError) Error() string {
	first := e.Outcome.Results[0].Error.Message
	if e.Batch {
		return fmt.Sprintf("every item failed; the first: %s", first)
	}
	return first
}

// apply does what the call asks for, in the caller's transaction; with show the results have the contacts.
func (c *Call) apply(tx core.App, show bool) (*Outcome, error) {
	outcome := &Outcome{Results: make([]Result, 0, len(c.items))}
	outbox := &delivery.Outbox{}
	for i, item := range c.items {
		if item.Action == Delete { // which writes its event itself
			if err := outbox.Flush(tx, time.Now()); err != nil {
				return nil, err
			}
		}
		result, err := applyItem(tx, c.webhook, item, contact.Also{Outbox: outbox})
		if err != nil {
			return nil, fmt.Errorf("applying item %d: %w", i, err)
		}
		result.Index = i
		if !show {
			result.Contact = nil
		}
		outcome.count(result)
	}
	if err := outbox.Flush(tx, time.Now()); err != nil {
		return nil, err
	}
	outcome.shorten()
	if outcome.Failed > 0 && outcome.Failed == len(c.items) {
		return nil, &RefusedError{Outcome: outcome, Batch: c.batch}
	}
	return outcome, nil
}

func (o *Outcome) count(result Result) {
	counters := map[string]*int{
		Created: &o.Created, Updated: &o.Updated, Unchanged: &o.Unchanged,
		Deleted: &o.Deleted, Ignored: &o.Ignored, Failed: &o.Failed,
	}
	*counters[result.Status]++
	o.Results = append(o.Results, result)
}

func applyItem(tx core.App, webhook *Webhook, item readItem, also contact.Also) (Result, error) {
	result := Result{Warnings: item.Warnings}
	switch {
	case item.Err != nil:
		return failed(result, itemFault(item.Err)), nil //nolint:nilerr // the item fails, the call goes on
	case item.Action != Upsert && item.Action != Delete:
		return failed(result, &Fault{Code: CodeInvalidAction, Message: fmt.Sprintf("the action %q is neither upsert nor delete", item.Action)}), nil
	case item.Action == Delete && webhook.Access != AccessFull:
		result.Status = Ignored
		result.Warnings = append(result.Warnings, "deletions need the access level full")
		return result, nil
	}
	if item.Chain != nil {
		known, err := event.Known(tx, webhook.TenantID, item.Chain.EventID)
		if err != nil {
			return result, err
		}
		if known {
			result.Status = Ignored
			result.Warnings = append(result.Warnings, "this change began here or has been here before")
			return result, nil
		}
	}
	found, key, err := match(tx, webhook.TenantID, item.Item)
	if err != nil {
		return result, err
	}
	switch {
	case item.Action == Delete && found == nil:
		result.Status = Ignored
		return result, nil
	case item.Action == Delete:
		return remove(tx, webhook.TenantID, found.ID, item.cause(), result)
	case found == nil && key.Only:
		return failed(result, &Fault{Code: CodeNotFound, Message: "there is no contact with this id"}), nil
	case item.Chain != nil:
		if found != nil {
			item.Item = item.Against(key, local(found))
		}
		if err := item.check(tx); err != nil {
			return result, err
		}
		if item.invalid == nil {
			item.changes = item.changes.CausedBy(item.Chain.EventID)
		}
	}
	return upsert(tx, webhook.TenantID, found, item, also, result)
}

func upsert(tx core.App, tenantID string, found *contact.Contact, item readItem, also contact.Also, result Result) (Result, error) {
	result.Warnings = append(result.Warnings, item.warnings...)
	err := item.invalid
	if err == nil && found == nil {
		result.Contact, err = contact.CreateAlso(tx, tenantID, item.changes, also)
		result.Status = Created
	} else if err == nil {
		var changed bool
		result.Contact, changed, err = contact.UpdateAlso(tx, tenantID, found.ID, item.changes, nil, also)
		result.Status = Unchanged
		if changed {
			result.Status = Updated
		}
	}
	var fields contact.FieldErrors
	if errors.As(err, &fields) {
		return failed(result, &Fault{Code: CodeValidation, Message: fields.Error(), Fields: fields}), nil
	}
	if err != nil {
		return result, err
	}
	result.ID = result.Contact.ID
	return result, nil
}

// remove deletes a contact. Where a relation of the admin's forbids it, this item fails and leaves nothing behind.
func remove(tx core.App, tenantID, id, cause string, result Result) (Result, error) {
	err := sqlite.Savepoint(tx, func() error { return contact.Delete(tx, tenantID, id, cause) })
	var used *relation.InUseError
	if errors.As(err, &used) {
		return failed(result, &Fault{Code: CodeInUse, Message: "the contact cannot be deleted: " + used.Error()}), nil
	}
	result.Status, result.ID = Deleted, id
	return result, err
}

// cause returns the event that the item passes on, "" for an ordinary item.
func (it Item) cause() string {
	if it.Chain == nil {
		return ""
	}
	return it.Chain.EventID
}

func failed(result Result, fault *Fault) Result {
	result.Status, result.Error, result.Contact = Failed, fault, nil
	return result
}

func itemFault(err *ItemError) *Fault {
	fault := &Fault{Code: err.Code, Message: err.Message}
	if err.Field != "" {
		fault.Code = CodeValidation
		fault.Fields = contact.FieldErrors{err.Field: {Code: err.Code, Message: err.Message}}
	}
	return fault
}

// match finds the contact that the item means, and by which key; nil where there is none.
func match(app core.App, tenantID string, item Item) (*contact.Contact, Key, error) {
	for _, key := range item.Keys() {
		var found *contact.Contact
		var err error
		switch key.Field {
		case fieldID:
			found, err = contact.Find(app, tenantID, key.Value)
		case fieldExternalID:
			found, err = contact.FindByExternalID(app, tenantID, key.Value)
		default:
			find := contact.FindByEmail
			if key.Unlinked {
				find = contact.FindUnlinkedByEmail
			}
			found, err = find(app, tenantID, key.Value)
		}
		if err == nil && key.Unlinked && !key.Fits(local(found)) {
			continue
		}
		if err == nil || key.Only && errors.Is(err, contact.ErrNotFound) {
			return found, key, nil
		}
		if !errors.Is(err, contact.ErrNotFound) {
			return nil, key, err
		}
	}
	return nil, Key{}, nil
}

func local(c *contact.Contact) Local {
	updated, _ := time.Parse(time.RFC3339, c.Updated) // the zero time where it is none
	values := map[string]string{}
	for name, value := range c.Values() {
		if value != nil {
			values[name] = fmt.Sprint(value)
		}
	}
	return Local{Values: values, Updated: updated}
}
