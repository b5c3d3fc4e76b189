// Package activity counts delivery attempts, events and API calls by the hour and by the minute, for the charts of
// the dashboard. Each hour has one row per webhook, kind of event and key, so that reading a chart takes the same
// time at any traffic. So does each minute, for MinutesKept.
//
// Counting never delays a write or a call: attempts and events are counted after their commits, and calls in memory.
// A Worker stores the counts every few seconds.
package activity

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/sqlite"
	"contactbase/internal/stamp"
)

// MinutesKept is how long the counts of a minute are kept.
const MinutesKept = 2 * time.Hour

// grain is the length of a row's time.
type grain struct {
	length time.Duration
	layout string // of the stored start of a row, a prefix of stored times
}

var (
	byHour   = &grain{time.Hour, "2006-01-02 15"}
	byMinute = &grain{time.Minute, "2006-01-02 15:04"}
	grains   = []*grain{byHour, byMinute}
)

// seconds returns the grain as it is stored.
func (g *grain) seconds() int64 { return int64(g.length / time.Second) }

// of returns the stored start of the row of a time, in UTC.
func (g *grain) of(at time.Time) string { return at.UTC().Format(g.layout) }

// in returns the stored start of the row of a stored time or minute.
func (g *grain) in(at string) string { return at[:len(g.layout)] }

// Span is the period that a chart shows, in steps of equal length up to now.
type Span struct {
	Start time.Time     // of the first step, in UTC
	Step  time.Duration // in full hours, or a minute
	Steps int
}

// Hour returns the last 60 minutes including the current one, in steps of a minute.
func Hour(now time.Time) Span {
	return Span{now.UTC().Truncate(time.Minute).Add(-59 * time.Minute), time.Minute, 60}
}

// Day returns the last 24 hours including the current one, in steps of an hour.
func Day(now time.Time) Span {
	return Span{now.UTC().Truncate(time.Hour).Add(-23 * time.Hour), time.Hour, 24}
}

// Week returns the last 7 days including the current hour, in steps of 6 hours.
func Week(now time.Time) Span {
	const step = 6 * time.Hour
	return Span{now.UTC().Truncate(time.Hour).Add(time.Hour - 28*step), step, 28}
}

// Month returns the last 30 days in UTC including the current one, in steps of a day.
func Month(now time.Time) Span {
	const day = 24 * time.Hour
	return Span{now.UTC().Truncate(day).Add(-29 * day), day, 30}
}

// StartOf returns the start of a step; the first is step 0.
func (s Span) StartOf(step int) time.Time { return s.Start.Add(time.Duration(step) * s.Step) }

// grain returns the grain of the rows of the span.
func (s Span) grain() *grain {
	if s.Step < time.Hour {
		return byMinute
	}
	return byHour
}

// stepOf returns the step of the stored start of a row, and whether the span includes it.
func (s Span) stepOf(start string) (int, bool) {
	at, err := time.Parse(s.grain().layout, start)
	if err != nil || at.Before(s.Start) {
		return 0, false
	}
	step := int(at.Sub(s.Start) / s.Step)
	return step, step < s.Steps
}

// starts returns the stored starts of the rows of the span as a JSON array.
func (s Span) starts() string {
	var starts []string
	g := s.grain()
	for at, end := s.Start, s.StartOf(s.Steps); at.Before(end); at = at.Add(g.length) {
		starts = append(starts, g.of(at))
	}
	return sqlite.List(starts)
}

// read runs a query on a reading connection, and calls scan for each row.
func read(app core.App, query string, scan func(*sql.Rows) error, args ...any) error {
	return sqlite.Each(sqlite.Direct(app.ConcurrentDB()), query, scan, args...)
}

// read calls add for each row of a query within the span, with the row's step. The first column is the stored start
// of the row, the others are scanned into the targets.
func (s Span) read(app core.App, query string, args, targets []any, add func(step int) error) error {
	var start string
	targets = append([]any{&start}, targets...)
	err := read(app, query, func(rows *sql.Rows) error {
		err := rows.Scan(targets...)
		if step, within := s.stepOf(start); err == nil && within {
			err = add(step)
		}
		return err
	}, args...)
	if err != nil {
		return fmt.Errorf("reading counts: %w", err)
	}
	return nil
}

// The statements delete up to the last argument's number of rows from before a time.
const (
	pruneSQL = "DELETE FROM `_activity` WHERE (`kind`, `grain`, `start`, `of`) IN " +
		"(SELECT `kind`, `grain`, `start`, `of` FROM `_activity` " +
		"WHERE `kind` = ? AND `grain` = ? AND `start` < ? ORDER BY `start`, `of` LIMIT ?)"
	pruneCallsSQL = "DELETE FROM `_keptCalls` WHERE `id` IN " +
		"(SELECT `id` FROM `_keptCalls` WHERE `slow` = ? AND `created` < ? ORDER BY `created` LIMIT ?)"
)

// Prune deletes the counts and calls from before that time, minutes that are older than MinutesKept, and calls that
// are older than FailedCallsKept and SlowCallsKept.
func Prune(ctx context.Context, app core.App, before, now time.Time) error {
	failed := errors.Join(
		sqlite.DeleteInChunks(ctx, app, pruneCallsSQL, 0, max(stamp.Stored(before), stamp.Stored(now.Add(-FailedCallsKept)))),
		sqlite.DeleteInChunks(ctx, app, pruneCallsSQL, 1, max(stamp.Stored(before), stamp.Stored(now.Add(-SlowCallsKept)))))
	for _, g := range grains {
		end := g.of(before)
		if g == byMinute {
			end = max(end, g.of(now.Add(-MinutesKept)))
		}
		for _, kind := range []string{ofWebhook, ofEvent, ofKey, ofInbound} {
			failed = errors.Join(failed, sqlite.DeleteInChunks(ctx, app, pruneSQL, kind, g.seconds(), end))
		}
	}
	if failed != nil {
		return fmt.Errorf("deleting old activity: %w", failed)
	}
	return nil
}
