package activity

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/sqlite"
)

// rowsPerWrite is how many rows are stored in one transaction.
const rowsPerWrite = 500

// Calls counts API calls by their status.
type Calls struct {
	Answered int64 `json:"answered"` // below 400
	Refused  int64 `json:"refused"`  // 4xx, except 429
	Limited  int64 `json:"limited"`  // 429
	Failed   int64 `json:"failed"`   // 5xx
}

func (c *Calls) add(status int) {
	switch {
	case status == http.StatusTooManyRequests:
		c.Limited++
	case status >= http.StatusInternalServerError:
		c.Failed++
	case status >= http.StatusBadRequest:
		c.Refused++
	default:
		c.Answered++
	}
}

func (c *Calls) merge(others counts) {
	c.Answered += others.done
	c.Refused += others.refused
	c.Limited += others.limited
	c.Failed += others.failed
}

// calledMinute is what was called with, the id of a key or an inbound webhook, and a minute, counted from 1970.
type calledMinute struct {
	kind, id string
	minute   int64
}

// CallCounter counts calls in memory until Write stores them.
type CallCounter struct {
	mu     sync.Mutex
	counts map[calledMinute]*Calls
	kept   keptCalls

	writing sync.Mutex
	pending []sqlite.Statement // not written yet
}

// NewCallCounter returns an empty counter.
func NewCallCounter() *CallCounter {
	return &CallCounter{counts: map[calledMinute]*Calls{}}
}

// Count counts a call with the key of that id, or "" for a call without a valid key. It reports whether the caller
// should call Keep, because the call failed or is one of the slowest.
func (c *CallCounter) Count(key string, status int, took time.Duration, at time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.add(ofKey, key, status, at)
	return status >= http.StatusBadRequest || c.kept.isSlow(key, status, took, at)
}

// CountInbound counts a request to the inbound webhook of that id.
func (c *CallCounter) CountInbound(id string, status int, at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.add(ofInbound, id, status, at)
}

// add counts a call. The caller holds mu.
func (c *CallCounter) add(kind, id string, status int, at time.Time) {
	of := calledMinute{kind, id, at.Unix() / 60}
	calls := c.counts[of]
	if calls == nil {
		calls = &Calls{}
		c.counts[of] = calls
	}
	calls.add(status)
}

// Keep keeps the details of a call.
func (c *CallCounter) Keep(key string, call Call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if call.Status >= http.StatusBadRequest {
		c.kept.add(keptList{key: key, limited: call.Status == http.StatusTooManyRequests}, call)
	}
	if c.kept.isSlow(key, call.Status, call.Took, call.At) {
		c.kept.add(keptList{key: key, slow: true}, call)
	}
}

// Write stores the counts in transactions of a few milliseconds. If a transaction fails, it drops the rest, and the
// error says how much. If ctx ends, the next Write stores the rest.
func (c *CallCounter) Write(ctx context.Context, app core.App) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	c.pending = append(c.pending, c.drain()...)
	for len(c.pending) > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		some := c.pending[:min(rowsPerWrite, len(c.pending))]
		c.pending = c.pending[len(some):]
		if _, err := sqlite.Execute(app, some...); err != nil {
			lost := len(some) + len(c.pending)
			c.pending = nil
			return fmt.Errorf("storing %d rows about calls, which are lost: %w", lost, err)
		}
	}
	c.pending = nil
	return nil
}

// drain returns the statements that store the counts, and resets the counter.
func (c *CallCounter) drain() (statements []sqlite.Statement) {
	c.mu.Lock()
	calls, kept := c.counts, c.kept.take()
	c.counts = map[calledMinute]*Calls{}
	c.mu.Unlock()
	for of, n := range calls {
		at := time.Unix(of.minute*60, 0)
		for _, g := range grains {
			statements = append(statements, add(of.kind, g.of(at), of.id, counts{
				done: n.Answered, refused: n.Refused, limited: n.Limited, failed: n.Failed,
			}))
		}
	}
	for list, calls := range kept {
		statements = append(statements, list.statements(calls)...)
	}
	return statements
}

// OfKey returns the calls with a key in each step of the span; "" stands for calls without a valid key.
func OfKey(app core.App, key string, span Span) ([]Calls, error) {
	return span.calls(app, oneSQL, ofKey, key)
}

// OfInbound returns the requests to an inbound webhook in each step of the span.
func OfInbound(app core.App, id string, span Span) ([]Calls, error) {
	return span.calls(app, oneSQL, ofInbound, id)
}

// OfKeys returns the calls with a tenant's keys, or all calls if the id is "", in each step of the span.
func OfKeys(app core.App, tenantID string, span Span) ([]Calls, error) {
	if tenantID == "" {
		return span.calls(app, allSQL, ofKey, "")
	}
	return span.calls(app, tenantKeysSQL, ofKey, tenantID)
}

// calls returns the calls that a query of counts finds in each step of the span.
func (s Span) calls(app core.App, query, kind, of string) ([]Calls, error) {
	steps := make([]Calls, s.Steps)
	err := s.counts(app, query, kind, of, func(step int, c counts) { steps[step].merge(c) })
	return steps, err
}
