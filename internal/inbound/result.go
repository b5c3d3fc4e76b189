package inbound

import (
	"strings"

	"contactbase/internal/fault"
)

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

// maxDetails limits the details in a request's results, in bytes: the response is stored, and should have at most 256 KiB for a
// thousand items.
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
