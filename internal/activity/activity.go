// Package activity counts delivery attempts, events and API calls by the hour, for the charts of the dashboard. Each hour has one row per
// webhook, kind of event and key, so that reading a chart takes the same time at any traffic.
//
// Counting never delays a write or a call: attempts and events are counted after their commits, and calls in memory. A Worker stores the
// counts every few seconds.
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

// CallsKept is how long the details of failed calls are kept.
const CallsKept = 7 * 24 * time.Hour

// hourLayout is the layout of a stored hour, a prefix of stored times.
const hourLayout = "2006-01-02 15"

// hourOf returns the stored hour of a time, in UTC.
func hourOf(at time.Time) string { return at.UTC().Format(hourLayout) }

// Span is the period that a chart shows, in steps of equal length up to now.
type Span struct {
	Start time.Time     // of the first step, a full hour in UTC
	Step  time.Duration // in full hours
	Steps int
}

// Day returns the last 24 hours including the current one, in steps of an hour.
func Day(now time.Time) Span {
	return Span{now.UTC().Truncate(time.Hour).Add(-23 * time.Hour), time.Hour, 24}
}

// Month returns the last 30 days in UTC including the current one, in steps of a day.
func Month(now time.Time) Span {
	const day = 24 * time.Hour
	return Span{now.UTC().Truncate(day).Add(-29 * day), day, 30}
}

// StartOf returns the start of a step; the first is step 0.
func (s Span) StartOf(step int) time.Time { return s.Start.Add(time.Duration(step) * s.Step) }

// stepOf returns the step of a stored hour, and whether the span includes it.
func (s Span) stepOf(hour string) (int, bool) {
	at, err := time.Parse(hourLayout, hour)
	if err != nil || at.Before(s.Start) {
		return 0, false
	}
	step := int(at.Sub(s.Start) / s.Step)
	return step, step < s.Steps
}

// hours returns the stored hours of the span as a JSON array.
func (s Span) hours() string {
	var hours []string
	for at, end := s.Start, s.StartOf(s.Steps); at.Before(end); at = at.Add(time.Hour) {
		hours = append(hours, hourOf(at))
	}
	return encode(hours)
}

// encode returns a JSON array.
func encode[T string | int64 | webhookHour](values []T) string {
	encoded, err := json.Marshal(values)
	if err != nil {
		panic(fmt.Errorf("activity: %w", err)) // unreachable with these types
	}
	return string(encoded)
}

// read runs a query on a reading connection, and calls scan for each row.
func read(app core.App, query string, scan func(*sql.Rows) error, args ...any) error {
	return sqlite.Each(sqlite.Direct(app.ConcurrentDB()), query, scan, args...)
}

// The statements delete up to ?2 rows from before ?1.
const (
	pruneWebhooksSQL = "DELETE FROM `_webhookHours` WHERE (`hour`, `webhook`) IN (SELECT `hour`, `webhook` FROM `_webhookHours` WHERE `hour` < ? ORDER BY `hour`, `webhook` LIMIT ?)"
	pruneEventsSQL   = "DELETE FROM `_eventHours` WHERE (`hour`, `type`) IN (SELECT `hour`, `type` FROM `_eventHours` WHERE `hour` < ? ORDER BY `hour`, `type` LIMIT ?)"
	pruneKeysSQL     = "DELETE FROM `_keyHours` WHERE (`hour`, `key`) IN (SELECT `hour`, `key` FROM `_keyHours` WHERE `hour` < ? ORDER BY `hour`, `key` LIMIT ?)"
	pruneCallsSQL    = "DELETE FROM `_failedCalls` WHERE `id` IN (SELECT `id` FROM `_failedCalls` WHERE `created` < ? ORDER BY `created` LIMIT ?)"
)

// Prune deletes the counts from before that time, and the failed calls that are from before it or older than CallsKept.
func Prune(ctx context.Context, app core.App, before, now time.Time) error {
	calls := now.Add(-CallsKept)
	if calls.Before(before) {
		calls = before
	}
	var failed error
	for _, prune := range []struct{ statement, before string }{
		{pruneWebhooksSQL, hourOf(before)}, {pruneEventsSQL, hourOf(before)}, {pruneKeysSQL, hourOf(before)}, {pruneCallsSQL, stamp.Stored(calls)},
	} {
		failed = errors.Join(failed, sqlite.DeleteInChunks(ctx, app, prune.statement, prune.before))
	}
	if failed != nil {
		return fmt.Errorf("deleting old activity: %w", failed)
	}
	return nil
}
