package inbound

import (
	"errors"
	"fmt"
	"time"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact"
	"contactbase/internal/event"
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
		for _, key := range item.Keys() {
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
	case item.Action != payload.Upsert && item.Action != payload.Delete:
		result.fail(fault.New(fault.InvalidAction, fmt.Sprintf("the action %q is neither upsert nor delete", item.Action)))
		return nil
	case item.Action == payload.Delete && a.webhook.Access != AccessFull:
		result.ignore("deletions need the access level full")
		return nil
	}
	if item.Chain != nil {
		known, err := event.Known(a.tx, a.webhook.TenantID, item.Chain.EventID)
		if err != nil || known {
			result.ignore("this change originated here or was already applied here")
			return err
		}
	}
	found, key, err := a.match(item.Item)
	if err != nil {
		return err
	}
	switch {
	case item.Action == payload.Delete && found == nil:
		result.Status = Ignored
		return nil
	case item.Action == payload.Delete:
		return a.remove(found.ID, item.cause(), result)
	case found == nil && key.Only:
		result.fail(fault.New(fault.NotFound, "no contact has this ID"))
		return nil
	case item.Chain != nil:
		if err := item.continueChain(a.tx, found, key); err != nil {
			return err
		}
	}
	return a.upsert(found, item, result)
}

// continueChain turns another installation's change into a change of the contact found by key, nil if none was.
func (r *readItem) continueChain(app core.App, found *contact.Contact, key payload.Key) error {
	if found != nil {
		r.Item = r.Against(key, local(found))
	}
	err := r.check(app)
	if err == nil && r.invalid == nil {
		r.changes = r.changes.CausedBy(r.Chain.EventID)
	}
	return err
}

func (a application) upsert(found *contact.Contact, item readItem, result *Result) error {
	result.Warnings = append(result.Warnings, item.warnings...)
	if len(item.invalid) > 0 {
		result.done("", nil, item.invalid)
		return nil
	}
	if found == nil {
		a.batch.Create(item.changes, func(c *contact.Contact, refused fault.Fields) {
			result.done(Created, c, refused)
			if refused["name"].Code == fault.CodeRequired && len(item.Missing) > 0 {
				result.Error.Message += "; " + payload.MissingWarning(item.Missing)
			}
		})
		return nil
	}
	c, changed, err := a.batch.Update(found.ID, item.changes)
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
func (a application) remove(id, cause string, result *Result) error {
	err := a.batch.Delete(id, cause)
	var used *fault.Error
	if errors.As(err, &used) && used.Code == fault.InUse {
		result.fail(fault.New(fault.InUse, "the contact cannot be deleted: "+used.Message))
		return nil
	}
	result.Status, result.ID = Deleted, id
	return err
}

// cause returns the event that the item forwards, "" for an ordinary item.
func (r *readItem) cause() string {
	if r.Chain == nil {
		return ""
	}
	return r.Chain.EventID
}

func (r *Result) ignore(why string) {
	r.Status, r.Warnings = Ignored, append(r.Warnings, why)
}

func (r *Result) fail(why *fault.Error) {
	r.Status, r.Error = Failed, why
}

// match finds the item's contact and the key that found it, nil if there is none.
func (a application) match(item payload.Item) (*contact.Contact, payload.Key, error) {
	for _, key := range item.Keys() {
		found, err := a.find(key)
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
	return nil, payload.Key{}, nil
}

func (a application) find(key payload.Key) (*contact.Contact, error) {
	switch {
	case key.Field == payload.FieldID:
		return a.batch.Find(key.Value)
	case key.Field == payload.FieldExternalID:
		return a.batch.FindByExternalID(key.Value)
	case key.Unlinked:
		return a.batch.FindUnlinkedByEmail(key.Value)
	default:
		return a.batch.FindByEmail(key.Value)
	}
}

func local(c *contact.Contact) payload.Local {
	updated, _ := time.Parse(time.RFC3339, c.Updated) // the zero time if it is invalid
	values := map[string]string{}
	for name, value := range c.Values() {
		if value != nil {
			values[name] = payload.Text(value)
		}
	}
	return payload.Local{Values: values, Updated: updated}
}
