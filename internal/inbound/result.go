package inbound

import (
	"strings"

	"contactbase/internal/fault"
)

// refusal is the answer if every item failed, nil otherwise. A single item's error is then that
// of the request.
func (r *Request) refusal(outcome *Outcome) error {
	if outcome.Failed == 0 || outcome.Failed < len(r.items) {
		return nil
	}
	first := outcome.Results[0].Error
	message := strings.TrimSuffix(first.Message, ".") + "."
	if r.batch {
		return fault.New(fault.ValidationFailed, "Nothing was written: every item failed; the first: "+message)
	}
	refused := &fault.Error{Code: first.Code, Message: "Nothing was written: " + message, Fields: first.Fields}
	switch first.Code {
	case fault.NotFound:
		refused.InBody = true
	case fault.CodeInvalidType: // of an item, or of a field, but not of a request
		refused.Code = fault.ValidationFailed
	}
	return refused
}

// maxDetails bounds, in bytes, what the results of a request say beside what became of each item: the answer is stored,
// and has at most a quarter of a mebibyte for a thousand items.
const maxDetails = 64 << 10

const leftOut = "details are left out: there are too many"

// shorten leaves out the details of the items that are behind the bound.
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

// detail tells about how many bytes of JSON the words about an item take.
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
