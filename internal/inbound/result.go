package inbound

import (
	"errors"
	"maps"
	"strings"

	"contactbase/internal/contact"
	"contactbase/internal/fault"
	"contactbase/internal/inbound/payload"
)

// Ignored is the status of an item that asked for nothing that this webhook may do, or for the deletion of a contact
// that does not exist.
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
		if r.webhook.isOfSender() && result.lacksContact() {
			result = result.ignore(r.note)
		}
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
	case r.Error == contact.ErrMerged:
		r.Status, r.Error, r.Warnings, r.Contact = Ignored, nil, append(r.Warnings, errMerged), nil
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

// lacksContact reports whether the item failed because it has neither a name nor an email address.
func (r *Result) lacksContact() bool {
	return r.Error != nil && r.Error.Fields["name"].Code == fault.CodeRequired
}

// ignore makes a failed item an ignored one: a sender that is known also sends events without a contact, and gives up
// an address that refuses them. note says what the request has instead.
func (r Result) ignore(note string) Result {
	r.Status, r.Error = Ignored, nil
	r.Warnings = append(r.Warnings, "the request has no contact: neither a name nor an email address."+note)
	return r
}

func (o *Outcome) count(result *Result) {
	counters := map[contact.Status]*int{
		contact.Created: &o.Created, contact.Updated: &o.Updated, contact.Unchanged: &o.Unchanged,
		contact.Deleted: &o.Deleted, Ignored: &o.Ignored, contact.Failed: &o.Failed,
	}
	*counters[result.Status]++
}

// refusal returns an error if all items failed. For a single item, it is the item's error.
func (r *Request) refusal(outcome *Outcome) error {
	if outcome.Failed == 0 || outcome.Failed < len(r.items) {
		return nil
	}
	first := outcome.Results[0].Error
	message := strings.TrimSuffix(first.Message, ".") + "." + r.note
	if r.batch {
		return fault.New(fault.ValidationFailed, "Nothing was written: all items failed. The first error: "+message)
	}
	refused := &fault.Error{Code: first.Code, Message: "Nothing was written: " + message, Fields: first.Fields}
	switch first.Code {
	case fault.NotFound, fault.InUse:
		refused.InBody = true
	case fault.CodeInvalidType: // an error of an item or field, not of a request
		refused.Code = fault.ValidationFailed
	}
	return refused
}

// maxDetails limits the details in a request's results, in bytes: the response is stored, and should have at most 256
// KiB for a thousand items.
const maxDetails = 64 << 10

const leftOut = "details are omitted: there are too many"

// shorten removes the details of all items after the limit.
func (o *Outcome) shorten() {
	left := maxDetails
	for i := range o.Results {
		r := &o.Results[i]
		size := r.detail()
		left -= size
		switch {
		case left >= 0 || size == 0:
		case r.Error != nil:
			r.Error, r.Warnings = fault.New(r.Error.Code, leftOut), nil
		default:
			r.Warnings = []string{leftOut}
		}
	}
}

// detail returns the approximate size of the item's details as JSON, in bytes.
func (r *Result) detail() int {
	size := 0
	for _, warning := range r.Warnings {
		size += 2 * len(warning) // quotes are escaped
	}
	if r.Error != nil {
		size += 2 * len(r.Error.Message)
		for name, wrong := range r.Error.Fields {
			size += len(name) + len(wrong.Code) + 2*len(wrong.Message)
		}
	}
	return size
}
