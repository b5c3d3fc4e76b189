package activity

import (
	"context"
	"database/sql"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/sqlite"
	"contactbase/internal/stamp"
)

// Limits of the failed calls that are kept, and of the transactions that store them.
const (
	callsPerKey   = 100   // stored for each key
	callsPerWrite = 20    // for each key between two writes
	maxUnwritten  = 1_000 // for all keys between two writes
	rowsPerWrite  = 500   // in one transaction
)

// Call is a failed API call: its status is 400 or more. It contains no query and no body.
type Call struct {
	RequestID string
	Method    string
	Path      string
	Status    int
	Code      string // of the error, such as "not_found"
	At        time.Time
}

// Calls counts API calls by their status.
type Calls struct {
	Answered int64 // below 400
	Refused  int64 // 4xx, except 429
	Limited  int64 // 429
	Failed   int64 // 5xx
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

func (c *Calls) merge(others Calls) {
	c.Answered += others.Answered
	c.Refused += others.Refused
	c.Limited += others.Limited
	c.Failed += others.Failed
}

// keyMinute is the id of a key and a minute, counted from 1970.
type keyMinute struct {
	key    string
	minute int64
}

// CallCounter counts calls in memory until Write stores them.
type CallCounter struct {
	mu     sync.Mutex
	counts map[keyMinute]*Calls
	failed map[string][]Call // by key, the last callsPerWrite of each
	kept   int               // calls in failed

	writing sync.Mutex
	pending []sqlite.Statement // not written yet
}

// NewCallCounter returns an empty counter.
func NewCallCounter() *CallCounter {
	return &CallCounter{counts: map[keyMinute]*Calls{}, failed: map[string][]Call{}}
}

// Count counts a call with the key of that id, or "" for a call without a valid key. It reports whether the caller should call Keep, because
// the call failed.
func (c *CallCounter) Count(key string, status int, at time.Time) bool {
	of := keyMinute{key, at.Unix() / 60}
	c.mu.Lock()
	defer c.mu.Unlock()
	calls := c.counts[of]
	if calls == nil {
		calls = &Calls{}
		c.counts[of] = calls
	}
	calls.add(status)
	return status >= http.StatusBadRequest
}

// Keep keeps the details of a failed call.
func (c *CallCounter) Keep(key string, call Call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	calls := c.failed[key]
	switch {
	case len(calls) == callsPerWrite:
		calls = slices.Delete(calls, 0, 1)
	case c.kept == maxUnwritten:
		return
	default:
		c.kept++
	}
	c.failed[key] = append(calls, call)
}

const (
	callsSQL = "INSERT INTO `_keyHours` (`hour`, `key`, `answered`, `refused`, `limited`, `failed`) VALUES (?, ?, ?, ?, ?, ?) " +
		"ON CONFLICT DO UPDATE SET `answered` = `answered` + excluded.`answered`, `refused` = `refused` + excluded.`refused`, " +
		"`limited` = `limited` + excluded.`limited`, `failed` = `failed` + excluded.`failed`"
	callSQL = "INSERT INTO `_failedCalls` (`key`, `requestId`, `method`, `path`, `status`, `code`, `created`) VALUES (?, ?, ?, ?, ?, ?, ?)"

	// tooManySQL deletes the failed calls of the key ?1, except the last ?2.
	tooManySQL = "DELETE FROM `_failedCalls` WHERE `key` = ?1 AND `id` <= (SELECT `id` FROM `_failedCalls` WHERE `key` = ?1 ORDER BY `id` DESC LIMIT 1 OFFSET ?2)"
)

// Write stores the counts in transactions of a few milliseconds. If a transaction fails, it drops the rest, and the error says how much. If ctx
// ends, the next Write stores the rest.
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
	counts, failed := c.counts, c.failed
	c.counts, c.failed, c.kept = map[keyMinute]*Calls{}, map[string][]Call{}, 0
	c.mu.Unlock()
	for of, n := range counts {
		at := time.Unix(of.minute*60, 0)
		for _, g := range grains {
			statements = append(statements, sqlite.Statement{Text: g.sql(callsSQL), Args: []any{g.of(at), of.key, n.Answered, n.Refused, n.Limited, n.Failed}})
		}
	}
	for key, calls := range failed {
		for _, call := range calls {
			statements = append(statements, sqlite.Statement{Text: callSQL, Args: []any{
				key, call.RequestID, call.Method, call.Path, call.Status, call.Code, stamp.Stored(call.At),
			}})
		}
		statements = append(statements, sqlite.Statement{Text: tooManySQL, Args: []any{key, callsPerKey}})
	}
	return statements
}

const (
	keySQL        = "SELECT `hour`, `answered`, `refused`, `limited`, `failed` FROM `_keyHours` WHERE `hour` IN (SELECT value FROM json_each(?)) AND `key` = ?"
	allKeysSQL    = "SELECT `hour`, sum(`answered`), sum(`refused`), sum(`limited`), sum(`failed`) FROM `_keyHours` WHERE `hour` >= ? GROUP BY `hour`"
	tenantKeysSQL = "SELECT `hour`, sum(`answered`), sum(`refused`), sum(`limited`), sum(`failed`) FROM `_keyHours` " +
		"WHERE `hour` IN (SELECT value FROM json_each(?)) AND `key` IN (SELECT `id` FROM `api_keys` WHERE `tenant` = ?) GROUP BY `hour`"
	failedCallSQL = "SELECT `requestId`, `method`, `path`, `status`, `code`, `created` FROM `_failedCalls` WHERE `key` = ? AND `created` >= ? ORDER BY `id` DESC"
)

// OfKey returns the calls with a key in each step of the span; "" stands for calls without a valid key.
func OfKey(app core.App, key string, span Span) ([]Calls, error) {
	return readCalls(app, span, keySQL, span.starts(), key)
}

// OfKeys returns the calls with a tenant's keys, or all calls if the id is "", in each step of the span.
func OfKeys(app core.App, tenantID string, span Span) ([]Calls, error) {
	if tenantID != "" {
		return readCalls(app, span, tenantKeysSQL, span.starts(), tenantID)
	}
	return readCalls(app, span, allKeysSQL, span.first())
}

func readCalls(app core.App, span Span, query string, args ...any) ([]Calls, error) {
	steps := make([]Calls, span.Steps)
	err := read(app, span.grain().sql(query), func(rows *sql.Rows) error {
		var start string
		var c Calls
		if err := rows.Scan(&start, &c.Answered, &c.Refused, &c.Limited, &c.Failed); err != nil {
			return err
		}
		if step, within := span.stepOf(start); within {
			steps[step].merge(c)
		}
		return nil
	}, args...)
	if err != nil {
		return nil, fmt.Errorf("reading calls: %w", err)
	}
	return steps, nil
}

// FailedCalls returns the failed calls with a key, the newest first: at most 100 from the last 7 days.
func FailedCalls(app core.App, key string, now time.Time) ([]Call, error) {
	calls := []Call{}
	err := read(app, failedCallSQL, func(rows *sql.Rows) error {
		var c Call
		var created string
		err := rows.Scan(&c.RequestID, &c.Method, &c.Path, &c.Status, &c.Code, &created)
		c.At = stamp.Parse(created)
		calls = append(calls, c)
		return err
	}, key, stamp.Stored(now.Add(-CallsKept)))
	if err != nil {
		return nil, fmt.Errorf("reading failed calls: %w", err)
	}
	return calls, nil
}
