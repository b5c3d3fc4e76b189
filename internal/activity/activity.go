// Package activity counts by the hour and by the minute what happens, for the charts of the dashboard: attempts to deliver, events,
// and calls of the API. An hour costs a row for each webhook, type of event and key, so that a chart costs the same however much
// there was. So does a minute, for MinutesKept.
//
// Nobody who writes or calls waits for it: attempts and events are counted behind the writes, and calls in memory. A Worker
// writes the counts down every few seconds.
package activity

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/sqlite"
	"contactbase/internal/stamp"
)

// CallsKept is how long the calls that were refused or failed are kept.
const CallsKept = 7 * 24 * time.Hour

// MinutesKept is how long the counts of a minute are kept.
const MinutesKept = 2 * time.Hour

// grain is how finely something is counted. Each grain has tables of its own, with the same columns.
type grain struct {
	length time.Duration
	layout string            // how the start of a row is stored: as a stored time begins
	names  *strings.Replacer // from the table and the column of the hours to its own
}

var (
	byHour   = &grain{time.Hour, "2006-01-02 15", strings.NewReplacer()}
	byMinute = &grain{time.Minute, "2006-01-02 15:04", strings.NewReplacer("Hours`", "Minutes`", "`hour`", "`minute`")}
	grains   = []*grain{byHour, byMinute}
)

// sql returns a statement about a table of hours as one about this grain's.
func (g *grain) sql(statement string) string { return g.names.Replace(statement) }

// of returns the row that a time belongs to, in UTC, as it is stored.
func (g *grain) of(at time.Time) string { return at.UTC().Format(g.layout) }

// in returns the row that a minute, as it is stored, belongs to.
func (g *grain) in(minute string) string { return minute[:len(g.layout)] }

// Span is a number of equal steps up to now: what a chart shows.
type Span struct {
	Start time.Time     // of the first step, in UTC
	Step  time.Duration // a number of hours, or a minute
	Steps int
}

// Hour returns the last 60 minutes by the minute, the present one included.
func Hour(now time.Time) Span {
	return Span{now.UTC().Truncate(time.Minute).Add(-59 * time.Minute), time.Minute, 60}
}

// Day returns the last 24 hours by the hour, the present one included.
func Day(now time.Time) Span {
	return Span{now.UTC().Truncate(time.Hour).Add(-23 * time.Hour), time.Hour, 24}
}

// Week returns the last 7 days by 6 hours, the present hour included.
func Week(now time.Time) Span {
	const step = 6 * time.Hour
	return Span{now.UTC().Truncate(time.Hour).Add(time.Hour - 28*step), step, 28}
}

// Month returns the last 30 days, each from midnight in UTC, the present one included.
func Month(now time.Time) Span {
	const day = 24 * time.Hour
	return Span{now.UTC().Truncate(day).Add(-29 * day), day, 30}
}

// StartOf returns when a step begins, from 0.
func (s Span) StartOf(step int) time.Time { return s.Start.Add(time.Duration(step) * s.Step) }

// grain returns how finely the rows of the span are counted.
func (s Span) grain() *grain {
	if s.Step < time.Hour {
		return byMinute
	}
	return byHour
}

// first returns the first row of the span, as it is stored.
func (s Span) first() string { return s.grain().of(s.Start) }

// stepOf returns the step that a row is in by its start as it is stored, and whether it is in any.
func (s Span) stepOf(start string) (int, bool) {
	at, err := time.Parse(s.grain().layout, start)
	if err != nil || at.Before(s.Start) {
		return 0, false
	}
	step := int(at.Sub(s.Start) / s.Step)
	return step, step < s.Steps
}

// starts returns the starts of the rows of the span as a JSON list, by which those of one webhook or key are looked up.
func (s Span) starts() string {
	var starts []string
	g := s.grain()
	for at, end := s.Start, s.StartOf(s.Steps); at.Before(end); at = at.Add(g.length) {
		starts = append(starts, g.of(at))
	}
	return encode(starts)
}

// encode returns the JSON of a list, which always has one.
func encode[T string | int64 | webhookRow](values []T) string {
	encoded, err := json.Marshal(values)
	if err != nil {
		panic(fmt.Errorf("activity: %w", err))
	}
	return string(encoded)
}

// read runs a query beside the writer and hands each row to scan.
func read(app core.App, query string, scan func(*sql.Rows) error, args ...any) error {
	return sqlite.Each(sqlite.Direct(app.ConcurrentDB()), query, scan, args...)
}

// The statements that delete up to ?2 rows from before ?1.
const (
	pruneWebhooksSQL = "DELETE FROM `_webhookHours` WHERE (`hour`, `webhook`) IN (SELECT `hour`, `webhook` FROM `_webhookHours` WHERE `hour` < ? ORDER BY `hour`, `webhook` LIMIT ?)"
	pruneEventsSQL   = "DELETE FROM `_eventHours` WHERE (`hour`, `type`) IN (SELECT `hour`, `type` FROM `_eventHours` WHERE `hour` < ? ORDER BY `hour`, `type` LIMIT ?)"
	pruneKeysSQL     = "DELETE FROM `_keyHours` WHERE (`hour`, `key`) IN (SELECT `hour`, `key` FROM `_keyHours` WHERE `hour` < ? ORDER BY `hour`, `key` LIMIT ?)"
	pruneCallsSQL    = "DELETE FROM `_failedCalls` WHERE `id` IN (SELECT `id` FROM `_failedCalls` WHERE `created` < ? ORDER BY `created` LIMIT ?)"
)

// Prune deletes, in chunks, the hours from before that time, the minutes that were kept for MinutesKept, and the calls that were kept
// for CallsKept or were made before it.
func Prune(ctx context.Context, app core.App, before, now time.Time) error {
	calls := now.Add(-CallsKept)
	if calls.Before(before) {
		calls = before
	}
	prunes := []struct{ statement, before string }{{pruneCallsSQL, stamp.Stored(calls)}}
	for _, g := range grains {
		end := g.of(before)
		if g == byMinute {
			end = max(end, g.of(now.Add(-MinutesKept)))
		}
		for _, statement := range []string{pruneWebhooksSQL, pruneEventsSQL, pruneKeysSQL} {
			prunes = append(prunes, struct{ statement, before string }{g.sql(statement), end})
		}
	}
	var failed error
	for _, prune := range prunes {
		err := sqlite.InChunks(ctx, app, func(tx core.App, limit int) (int, error) {
			deleted, err := sqlite.Run(tx, []sqlite.Statement{{Text: prune.statement, Args: []any{prune.before, limit}}})
			if err != nil {
				return 0, err
			}
			return int(deleted[0]), nil
		})
		failed = errors.Join(failed, err)
	}
	if failed != nil {
		return fmt.Errorf("pruning what was counted: %w", failed)
	}
	return nil
}
