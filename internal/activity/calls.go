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

// How many calls that were refused or failed are kept: of each key, and between two writes, so that a flood of them keeps
// nobody from writing.
const (
	callsPerKey   = 100
	callsPerWrite = 20    // of each key
	maxUnwritten  = 1_000 // of all keys
	rowsPerWrite  = 500   // of one transaction
)

// Call is a request of the API that was refused or failed. It says nothing of a query or a body.
type Call struct {
	RequestID string
	Method    string
	Path      string
	Status    int
	Code      string // of the error, such as "not_found"
	At        time.Time
}

// Calls is how many there were, by what became of them.
type Calls struct {
	Answered int64 // below 400
	Refused  int64 // 4xx, without those that were limited
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

// keyMinute is a minute of a key; the minutes are counted from 1970.
type keyMinute struct {
	key    string
	minute int64
}

// CallCounter counts calls in memory until Write writes them down.
type CallCounter struct {
	mu     sync.Mutex
	counts map[keyMinute]*Calls
	failed map[string][]Call // by key, the last callsPerWrite of each
	kept   int               // calls in failed

	writing sync.Mutex
	taken   []sqlite.Statement // that are to be written still
}

// NewCallCounter returns a counter that has counted nothing.
func NewCallCounter() *CallCounter {
	return &CallCounter{counts: map[keyMinute]*Calls{}, failed: map[string][]Call{}}
}

// Count counts a call with the key of that id, "" for one without a known key, and reports whether details of it are worth a
// call of Keep: it was refused or failed.
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

// Keep keeps the details of a call.
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

	// tooManySQL deletes the calls of the key ?1 but for the last ?2.
	tooManySQL = "DELETE FROM `_failedCalls` WHERE `key` = ?1 AND `id` <= (SELECT `id` FROM `_failedCalls` WHERE `key` = ?1 ORDER BY `id` DESC LIMIT 1 OFFSET ?2)"
)

// Write writes down what was counted, in transactions of some milliseconds. Where one of them fails, what is left is lost, and the error
// tells. Where ctx ends, it is left for the next Write.
func (c *CallCounter) Write(ctx context.Context, app core.App) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	c.taken = append(c.taken, c.take()...)
	for len(c.taken) > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		some := c.taken[:min(rowsPerWrite, len(c.taken))]
		c.taken = c.taken[len(some):]
		_, err := sqlite.Write(app, func(sqlite.Reader) ([]sqlite.Statement, error) { return some, nil })
		if err != nil {
			lost := len(some) + len(c.taken)
			c.taken = nil
			return fmt.Errorf("writing down %d rows about calls: %w", lost, err)
		}
	}
	c.taken = nil
	return nil
}

// take returns the statements that write down what was counted, and starts again.
func (c *CallCounter) take() (statements []sqlite.Statement) {
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
	failedCallSQL = "SELECT `requestId`, `method`, `path`, `status`, `code`, `created` FROM `_failedCalls` WHERE `key` = ? AND `created` >= ? ORDER BY `id` DESC"
)

// OfKey returns the calls with a key in each step of the span, "" for those without one that is known.
func OfKey(app core.App, key string, span Span) ([]Calls, error) {
	return readCalls(app, span, keySQL, span.starts(), key)
}

// OfKeys returns all calls in each step of the span.
func OfKeys(app core.App, span Span) ([]Calls, error) {
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
		return nil, fmt.Errorf("reading the calls of a span: %w", err)
	}
	return steps, nil
}

// FailedCalls returns the last calls with a key that were refused or failed, the newest first: at most 100, of the last 7 days.
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
		return nil, fmt.Errorf("reading the calls that failed: %w", err)
	}
	return calls, nil
}
