package store

import (
	"database/sql/driver"
	"sync"

	"modernc.org/sqlite"

	"contactbase/internal/webhook/filter"
)

// passes is the condition that the payload %s passes the filter of a webhook w.
const passes = "(w.`filter` = '' OR event_passes(w.`filter`, %s))"

func init() {
	sqlite.MustRegisterScalarFunction("event_passes", 2, func(_ *sqlite.FunctionContext, args []driver.Value) (driver.Value, error) {
		text, _ := args[0].(string)
		payload, _ := args[1].(string)
		if filters.pass(text, filters.parse(payload)) {
			return int64(1), nil
		}
		return int64(0), nil
	})
}

// filters are the compiled filters of all webhooks.
var filters = evaluator{compiled: map[string]*filter.Filter{}}

// maxCompiled is how many filters stay compiled, which takes some 5 KiB each.
const maxCompiled = 1_000

// evaluator keeps filters compiled, and the last event parsed, since a query evaluates the filters of one event after the other.
type evaluator struct {
	mu       sync.Mutex
	compiled map[string]*filter.Filter // by their texts
	payload  string
	event    *filter.Event
}

// parse returns the event of a payload, nil if it cannot be parsed. The event must not be changed.
func (v *evaluator) parse(payload string) *filter.Event {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.event == nil || v.payload != payload {
		v.payload = payload
		v.event, _ = filter.Parse([]byte(payload))
	}
	return v.event
}

// pass reports whether the event passes the filter. An event passes if it could not be parsed, or if the filter fails.
func (v *evaluator) pass(text string, event *filter.Event) bool {
	f, err := v.compile(text)
	if err != nil || event == nil {
		return true
	}
	matches, _ := f.Match(event)
	return matches
}

func (v *evaluator) compile(text string) (*filter.Filter, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if f, found := v.compiled[text]; found {
		return f, nil
	}
	f, err := filter.Compile(text)
	if err != nil {
		return nil, err
	}
	if len(v.compiled) >= maxCompiled {
		clear(v.compiled)
	}
	v.compiled[text] = f
	return f, nil
}
