package activity

import (
	"cmp"
	"database/sql"
	"fmt"
	"math"
	"net/http"
	"slices"
	"time"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/sqlite"
	"contactbase/internal/stamp"
)

// How long the details of calls are kept.
const (
	FailedCallsKept = 7 * 24 * time.Hour
	SlowCallsKept   = 24 * time.Hour
)

// Limits of the calls that are kept.
const (
	failedPerKey   = 100   // stored for each key, and as many that were rate limited
	slowestPerHour = 10    // stored for each key and hour, so that the slowest of the last day are always among them
	callsPerWrite  = 20    // in each list between two writes
	maxUnwritten   = 1_000 // in all lists between two writes
)

// Call is an API call that failed, with a status of 400 or more, or was slow. It contains no body, and
// of the query only the names of invalid parameters.
type Call struct {
	RequestID string
	Method    string
	Path      string
	Status    int
	Code      string // of the error, such as "not_found"; "" without an error

	Parameters string        // the names of the invalid ones, separated by spaces
	Took       time.Duration // 0 if it waited for events
	At         time.Time
}

// keptList is one of the three lists of calls of a key: the slowest, those that were rate limited, which would drive
// out all others, and those that failed otherwise.
type keptList struct {
	key           string
	slow, limited bool
}

// keptCalls has the calls that are not stored yet. It also remembers which durations are among the slowest of an
// hour, so that fewer and fewer calls of a busy key are stored as the hour passes.
type keptCalls struct {
	unwritten map[keptList][]Call // the slowest in order of their duration
	count     int                 // calls in unwritten
	hour      int64               // of slowest, counted from 1970
	slowest   map[string][]time.Duration
}

// isSlow reports whether a call is one of the slowest of its key in this hour. A rejected call is not: it has done
// nothing.
func (k *keptCalls) isSlow(key string, status int, took time.Duration, at time.Time) bool {
	if status >= http.StatusBadRequest && status < http.StatusInternalServerError {
		return false
	}
	if hour := at.Unix() / 3600; hour != k.hour {
		k.hour, k.slowest = hour, map[string][]time.Duration{}
	}
	known := k.slowest[key]
	return key != "" && took > 0 && (len(known) < slowestPerHour || took > known[0])
}

// add adds a call. If the list is full, it drops the first one.
func (k *keptCalls) add(list keptList, call Call) {
	calls := k.unwritten[list]
	if len(calls) < callsPerWrite && k.count == maxUnwritten {
		return
	}
	if k.unwritten == nil {
		k.unwritten = map[keptList][]Call{}
	}
	place := len(calls)
	if list.slow {
		place, _ = slices.BinarySearchFunc(calls, call, func(a, b Call) int { return cmp.Compare(a.Took, b.Took) })
		known := k.slowest[list.key]
		at, _ := slices.BinarySearch(known, call.Took)
		known = slices.Insert(known, at, call.Took)
		k.slowest[list.key] = known[max(0, len(known)-slowestPerHour):]
	}
	calls = slices.Insert(calls, place, call)
	dropped := max(0, len(calls)-callsPerWrite)
	k.unwritten[list] = calls[dropped:]
	k.count += 1 - dropped
}

// take returns the calls that are not stored yet, and forgets them.
func (k *keptCalls) take() map[keptList][]Call {
	taken := k.unwritten
	k.unwritten, k.count = nil, 0
	return taken
}

const (
	// keepSQL stores a call, unless its key was deleted since.
	keepSQL = "INSERT INTO `_keptCalls` (`key`, `slow`, `requestId`, " +
		"`method`, `path`, `status`, `code`, `durationMs`, `created`, `parameters`) " +
		"SELECT :key, :slow, :requestId, :method, :path, :status, :code, :took, :at, :parameters WHERE :key = '' OR EXISTS " +
		"(SELECT 1 FROM `api_keys` k JOIN `tenants` t ON t.`id` = k.`tenant` WHERE k.`id` = :key)"

	// tooManyFailedSQL deletes the failed calls of the key ?1, except the last ?2: those that were rate limited, or the
	// others.
	tooManyFailedSQL = "DELETE FROM `_keptCalls` " +
		"WHERE `id` IN (SELECT `id` FROM `_keptCalls` WHERE `key` = ?1 AND `slow` = 0 AND (`status` = 429) = ?3 " +
		"ORDER BY `created` DESC, `id` DESC LIMIT -1 OFFSET ?2)"

	// tooManySlowSQL deletes the slow calls of a key in an hour, except the slowest.
	tooManySlowSQL = "DELETE FROM `_keptCalls` " +
		"WHERE `id` IN (SELECT `id` FROM `_keptCalls` WHERE `key` = :key AND `slow` = 1 " +
		"AND `created` >= :from AND `created` < :before ORDER BY `durationMs` DESC, `id` LIMIT -1 OFFSET :kept)"
)

// statements returns the statements that store calls of a list, and delete those that are then too many.
func (l keptList) statements(calls []Call) (statements []sqlite.Statement) {
	for _, c := range calls {
		statements = append(statements, sqlite.Statement{Text: keepSQL, Args: sqlite.Named(map[string]any{
			"key": l.key, "slow": l.slow, "requestId": c.RequestID, "method": c.Method, "path": c.Path, "status": c.Status,
			"code": c.Code, "took": c.Took.Milliseconds(), "at": stamp.Stored(c.At), "parameters": c.Parameters,
		})})
		if l.slow {
			hour := c.At.Truncate(time.Hour)
			statements = append(statements, sqlite.Statement{Text: tooManySlowSQL, Args: sqlite.Named(map[string]any{
				"key": l.key, "from": stamp.Stored(hour), "before": stamp.Stored(hour.Add(time.Hour)), "kept": slowestPerHour,
			})})
		}
	}
	if !l.slow {
		statements = append(statements, sqlite.Statement{Text: tooManyFailedSQL, Args: []any{l.key, failedPerKey, l.limited}})
	}
	return statements
}

const (
	keptSQL = "SELECT `requestId`, `method`, `path`, `status`, `code`, `parameters`, `durationMs`, `created` " +
		"FROM `_keptCalls` WHERE `key` = ?1 AND `created` >= ?2 AND (?3 = '' OR `method` = ?3) " +
		"AND `status` BETWEEN ?4 AND ?5 AND instr(lower(`path`), lower(?6)) "
	failedCallSQL = keptSQL + "AND `slow` = 0 ORDER BY `created` DESC, `id` DESC"
	slowCallSQL   = keptSQL + "AND `slow` = 1 ORDER BY `durationMs` DESC, `created` DESC LIMIT 10"
)

// CallFilter selects calls. Zero values select all.
type CallFilter struct {
	Method                  string
	LeastStatus, MostStatus int
	Path                    string // a part of it; the case of ASCII letters does not matter
}

// FailedCalls returns the failed calls with a key, the newest first: from the last 7 days, at most 100 that were rate
// limited, and 100 others.
func FailedCalls(app core.App, key string, f CallFilter, now time.Time) ([]Call, error) {
	return readKept(app, failedCallSQL, key, f, now.Add(-FailedCallsKept))
}

// SlowestCalls returns the 10 slowest calls with a key in the last 24 hours, the slowest first.
func SlowestCalls(app core.App, key string, f CallFilter, now time.Time) ([]Call, error) {
	return readKept(app, slowCallSQL, key, f, now.Add(-SlowCallsKept))
}

func readKept(app core.App, query, key string, f CallFilter, since time.Time) ([]Call, error) {
	calls := []Call{}
	err := read(app, query, func(rows *sql.Rows) error {
		var c Call
		var milliseconds int64
		var created string
		err := rows.Scan(&c.RequestID, &c.Method, &c.Path, &c.Status, &c.Code, &c.Parameters, &milliseconds, &created)
		c.Took, c.At = time.Duration(milliseconds)*time.Millisecond, stamp.Parse(created)
		calls = append(calls, c)
		return err
	}, key, stamp.Stored(since), f.Method, f.LeastStatus, cmp.Or(f.MostStatus, math.MaxInt), f.Path)
	if err != nil {
		return nil, fmt.Errorf("reading calls: %w", err)
	}
	return calls, nil
}
