package inbound

import (
	"errors"
	"fmt"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact"
	"contactbase/internal/fault"
	"contactbase/internal/inbound/payload"
)

// The results of an item.
const (
	Created   = "created"
	Updated   = "updated"
	Unchanged = "unchanged"
	Deleted   = "deleted"
	Ignored   = "ignored"
	Failed    = "failed"
)

// Result is the result of one item.
type Result struct {
	Index    int              `json:"index"`
	Status   string           `json:"status"`
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

// apply applies the request in the caller's transaction; with show, the results have the contacts. The error is ErrInvalidToken if
// the tenant was deleted.
func (r *Request) apply(tx core.App, show bool) (_ *Outcome, err error) {
	defer func() {
		if errors.Is(err, contact.ErrNoTenant) { // its text is about API keys
			err = ErrInvalidToken
		}
	}()
	results := make([]Result, len(r.items))
	batch, err := r.batchOf(tx)
	if err != nil {
		return nil, err
	}
	application := application{tx: tx, webhook: r.webhook, batch: batch}
	for i, item := range r.items {
		results[i] = Result{Index: i, Warnings: item.Warnings}
		if err := application.apply(item, &results[i]); err != nil {
			return nil, fmt.Errorf("applying item %d: %w", i, err)
		}
	}
	if err := batch.Close(); err != nil {
		return nil, err
	}
	outcome := &Outcome{Results: results}
	for i := range results {
		outcome.count(&results[i])
		if !show {
			results[i].Contact = nil
		}
	}
	outcome.shorten()
	return outcome, nil
}

// batchOf returns a batch that has loaded the keys by which the items find contacts.
func (r *Request) batchOf(tx core.App) (*contact.Batch, error) {
	var externalIDs, emails []string
	for _, item := range r.items {
		for _, key := range item.Match {
			switch key.Field {
			case payload.FieldExternalID:
				externalIDs = append(externalIDs, key.Value)
			case payload.FieldEmail:
				emails = append(emails, key.Value)
			}
		}
	}
	return contact.NewBatch(tx, r.webhook.TenantID, externalIDs, emails)
}

func (o *Outcome) count(result *Result) {
	counters := map[string]*int{
		Created: &o.Created, Updated: &o.Updated, Unchanged: &o.Unchanged,
		Deleted: &o.Deleted, Ignored: &o.Ignored, Failed: &o.Failed,
	}
	*counters[result.Status]++
}

// application is the state of a request that is being applied.
type application struct {
	tx      core.App
	webhook *Webhook
	batch   *contact.Batch
}

func (a application) apply(item readItem, result *Result) error {
	switch {
	case item.Err != nil:
		result.fail(item.Err)
		return nil //nolint:nilerr // the item fails, the request continues
	case item.Action == payload.Delete && a.webhook.Access != AccessFull:
		result.ignore("deletions need the access level full")
		return nil
	}
	found, err := a.match(item.Match)
	switch {
	case err != nil:
		return err
	case item.Action == payload.Delete && found == nil:
		result.Status = Ignored
		return nil
	case item.Action == payload.Delete:
		return a.remove(found.ID, result)
	case item.Action == payload.Update && found == nil:
		result.fail(fault.New(fault.NotFound, "no contact has this ID"))
		return nil
	}
	return a.upsert(found, item, result)
}

func (a application) upsert(found *contact.Contact, item readItem, result *Result) error {
	write := item.update
	if found == nil {
		write = item.create
	}
	result.Warnings = append(result.Warnings, write.warnings...)
	if len(write.invalid) > 0 {
		result.done("", nil, write.invalid)
		return nil
	}
	if found == nil {
		a.batch.Create(write.changes, func(c *contact.Contact, refused fault.Fields) {
			result.done(Created, c, refused)
			if refused["name"].Code == fault.CodeRequired && len(item.Missing) > 0 {
				result.Error.Message += "; " + payload.MissingWarning(item.Missing)
			}
		})
		return nil
	}
	c, changed, err := a.batch.Update(found.ID, write.changes)
	var refused fault.Fields
	if err != nil && !errors.As(err, &refused) {
		return err
	}
	status := Unchanged
	if changed {
		status = Updated
	}
	result.done(status, c, refused)
	return nil
}

// done records the result of an upsert.
func (r *Result) done(status string, c *contact.Contact, refused fault.Fields) {
	if refused != nil {
		r.fail(&fault.Error{Code: fault.ValidationFailed, Message: refused.Error(), Fields: refused})
		return
	}
	r.Status, r.ID, r.Contact = status, c.ID, c
}

// remove deletes a contact. If an admin's relation prevents it, the item fails and changes nothing.
func (a application) remove(id string, result *Result) error {
	err := a.batch.Delete(id)
	var used *fault.Error
	if errors.As(err, &used) && used.Code == fault.InUse {
		result.fail(fault.New(fault.InUse, "the contact cannot be deleted: "+used.Message))
		return nil
	}
	result.Status, result.ID = Deleted, id
	return err
}

func (r *Result) ignore(why string) {
	r.Status, r.Warnings = Ignored, append(r.Warnings, why)
}

func (r *Result) fail(why *fault.Error) {
	r.Status, r.Error = Failed, why
}

// match returns the contact that the first key finds, nil if none does.
func (a application) match(keys []payload.Key) (*contact.Contact, error) {
	for _, key := range keys {
		found, err := a.find(key)
		if !errors.Is(err, contact.ErrNotFound) {
			return found, err
		}
	}
	return nil, nil
}

func (a application) find(key payload.Key) (*contact.Contact, error) {
	switch key.Field {
	case payload.FieldID:
		return a.batch.Find(key.Value)
	case payload.FieldExternalID:
		return a.batch.FindByExternalID(key.Value)
	default:
		return a.batch.FindByEmail(key.Value)
	}
}
