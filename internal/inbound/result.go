package inbound

// maxDetails bounds, in bytes, what the results of a call say beside what became of each item: the answer is stored,
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
			r.Error, r.Warnings = &Fault{Code: r.Error.Code, Message: leftOut}, nil
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
		for name, fault := range r.Error.Fields {
			size += len(name) + len(fault.Code) + 2*len(fault.Message)
		}
	}
	return size
}
