// Package activity counts by the hour what happens, for the charts of the dashboard: attempts to deliver, events, and calls of
// the API. An hour costs a row for each webhook, type of event and key, so that a chart costs the same however much there was.
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
	"time"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/sqlite"
	"contactbase/internal/stamp"
)

// CallsKept is how long the calls that were refused or failed are kept.
const CallsKept = 7 * 24 * time.Hour

// hourLayout is how an hour is stored: as a stored time begins.
const hourLayout = "2006-01-02 15"

// hourOf returns the hour of a time, in UTC, as it is stored.
func hourOf(at time.Time) string { return at.UTC().Format(hourLayout) }

// Span is a number of steps of as many hours each, up to now: what a chart shows.
type Span struct {
	Start time.Time     // of the first step, a full hour in UTC
	Step  time.Duration // a number of hours
	Steps int
}

// Day returns the last 24 hours by the hour, the present one included.
func Day(now time.Time) Span {
	return Span{now.UTC().Truncate(time.Hour).Add(-23 * time.Hour), time.Hour, 24}
}

// Month returns the last 30 days, each from midnight in UTC, the present one included.
func Month(now time.Time) Span {
	const day = 24 * time.Hour
	return Span{now.UTC().Truncate(day).Add(-29 * day), day, 30}
}

// StartOf returns when a step begins, from 0.
func (s Span) StartOf(step int) time.Time { return s.Start.Add(time.Duration(step) * s.Step) }

// stepOf returns the step that an hour as it is stored is in, and whether it is in any.
func (s Span) stepOf(hour string) (int, bool) {
	at, err := time.Parse(hourLayout, hour)
	if err != nil || at.Before(s.Start) {
		return 0, false
	}
	step := int(at.Sub(s.Start) / s.Step)
	return step, step < s.Steps
}

// hours returns the hours of the span as a JSON list, by which rows of one webhook or key are looked up.
func (s Span) hours() string {
	var hours []string
	for at, end := s.Start, s.StartOf(s.Steps); at.Before(end); at = at.Add(time.Hour) {
		hours = append(hours, hourOf(at))
	}
	return encode(hours)
}

// encode returns the JSON of a list, which always has one.
func encode[T string | int64 | webhookHour](values []T) string {
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

// Prune deletes, in chunks, the hours from before that time, and the calls that were kept for CallsKept or were made before it.
func Prune(ctx context.Context, app core.App, before, now time.Time) error {
	calls := now.Add(-CallsKept)
	if calls.Before(before) {
		calls = before
	}
	var failed error
	for _, prune := range []struct{ statement, before string }{
		{pruneWebhooksSQL, hourOf(before)}, {pruneEventsSQL, hourOf(before)}, {pruneKeysSQL, hourOf(before)}, {pruneCallsSQL, stamp.Stored(calls)},
	} {
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
