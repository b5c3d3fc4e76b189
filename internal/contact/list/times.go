package list

import (
	"strings"
	"time"

	"contactbase/internal/fault"
	"contactbase/internal/stamp"
)

// timeFilter is a query parameter that selects contacts by one of their times.
type timeFilter struct {
	name     string
	column   string // of a contact
	operator string // that compares the column with the parameter
}

var timeFilters = []timeFilter{
	{"createdSince", "created", ">="},
	{"createdBefore", "created", "<"},
	{"updatedSince", "updated", ">="},
	{"updatedBefore", "updated", "<"},
}

// read reads the parameter. The result is nil if it is valid.
func (f timeFilter) read(into *Filter, s string) *fault.Field {
	// a plus sign of a time zone that was not encoded arrives as a space
	at, err := time.Parse(time.RFC3339, strings.Replace(s, " ", "+", 1))
	if err != nil {
		return &fault.Field{Code: fault.CodeInvalidValue, Message: "must be an RFC 3339 time, such as 2026-01-31T12:00:00Z"}
	}
	if into.Times == nil {
		into.Times = map[string]string{}
	}
	into.Times[f.name] = stamp.Stored(ceilMillisecond(at))
	return nil
}

// ceilMillisecond rounds up to the precision of stored times, so that a stored time is before the result only if it
// is before the given time.
func ceilMillisecond(at time.Time) time.Time {
	return at.Add(time.Millisecond - 1).Truncate(time.Millisecond)
}
