package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/delivery"
	"contactbase/internal/event"
	"contactbase/internal/sqlite"
	"contactbase/internal/stamp"
)

// `_fanOutCursor` has the id of the last event that is fanned out. Events are in the order of their rows, because transactions commit one
// after the other and VACUUM keeps that order. But VACUUM may renumber rows, so the cursor is an id; a trigger keeps it on an event that
// exists.

// cursorRow selects the row of the event at the cursor, 0 before the first event.
const cursorRow = "coalesce((SELECT last.rowid FROM `_fanOutCursor` CROSS JOIN `events` last ON last.`id` = `_fanOutCursor`.`event`), 0)"

// lagSQL returns how many events are after the cursor, whose rows have no gaps. firstSQL returns when the first of them was created.
// afterSQL reads the first ?1 of them that are also after the event ?2, if any, and not after the row ?3. lastSQL returns the row of the
// last of the events in ?1.
const (
	lagSQL   = "SELECT max(0, coalesce((SELECT max(rowid) FROM `events`), 0) - " + cursorRow + ")"
	firstSQL = "SELECT `created` FROM `events` WHERE rowid > " + cursorRow + " ORDER BY rowid LIMIT 1"
	afterSQL = "SELECT `id`, `tenant`, `type`, `contact`, `created`, rowid FROM `events` " +
		"WHERE rowid > max(" + cursorRow + ", coalesce((SELECT rowid FROM `events` WHERE `id` = ?2), 0)) AND rowid <= ?3 ORDER BY rowid LIMIT ?1"
	lastSQL = "SELECT coalesce(max(e.rowid), 0) FROM json_each(?1) j CROSS JOIN `events` e ON e.`id` = j.`value`"
)

// nobodySQL returns the newest event if no webhook is enabled, in one statement, so that none is enabled in between. It selects the event
// by its row: ordered by row, SQLite would pass over all events if a webhook is enabled.
const nobodySQL = "SELECT `id` FROM `events` WHERE rowid = (SELECT max(rowid) FROM `events`) AND NOT EXISTS (SELECT 1 FROM `webhooks` WHERE `disabled` = 0)"

// newDelivery starts a statement that inserts deliveries, and once ends it.
const (
	newDelivery = "INSERT INTO `deliveries` (`id`, `event`, `webhook`, `tenant`, `status`, `attempts`, `nextAttempt`, `lastStatus`, `lastError`, `created`, `updated`, `contact`, `blocked`) "
	once        = " ON CONFLICT DO NOTHING"
)

// insertSQL inserts a delivery, with a result if there is one. moveSQL moves the cursor to the event ?1.
const (
	insertSQL = newDelivery + "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, 0)" + once
	moveSQL   = "UPDATE `_fanOutCursor` SET `event` = ?1"

	// setAsideSQL sets the tenant ?1 aside with the event ?2.
	setAsideSQL = "INSERT INTO `_fanOutAside` (`tenant`, `event`) VALUES (?1, ?2) ON CONFLICT DO NOTHING"

	// skipSQL moves the cursor to the event ?1, unless that is gone or the cursor is after it already.
	skipSQL = moveSQL + " WHERE (SELECT rowid FROM `events` WHERE `id` = ?1) > " + cursorRow
)

const (
	// manyEvents is how many events after the cursor are too many to be sent before they are fanned out.
	manyEvents = 1_000
	// fewEvents is how many events after the cursor are few: they share the commit of others.
	fewEvents = 50
	// smallFanOut is how many events and deliveries, together, are written in such a commit: some 3 ms.
	smallFanOut = 200
	// movePause is how long the cursor waits while no webhook wants the events after it.
	movePause = time.Second
)

// FanOut implements delivery.Queue.
func (s *Store) FanOut(ctx context.Context, order delivery.FanOut) (out delivery.FannedOut, err error) {
	if order.Aside {
		return s.fanOutAside(ctx, "", order.Now)
	}
	lag, err := s.lag()
	if err == nil && lag > 0 && (lag >= manyEvents || s.aged(order.Now, order.Age)) {
		out, err = s.fanOutOld(lag, order.Now)
	}
	if err != nil {
		return delivery.FannedOut{}, fmt.Errorf("fanning out events: %w", err)
	}
	return out, nil
}

// CatchUp fans out the events that are after the cursor now, in chunks. It also fans out those of the given tenant if it is set aside; "" is no
// tenant.
func (s *Store) CatchUp(ctx context.Context, tenantID string) error {
	now := time.Now()
	left, err := s.lag()
	var chunks sqlite.Chunks
	for more := true; more && left > 0 && err == nil && ctx.Err() == nil; { // with events written meanwhile, it might never end
		var f fannedOut
		f, more, err = s.nextChunk(&chunks, now)
		left -= f.events
	}
	for more := tenantID != ""; more && err == nil && ctx.Err() == nil; {
		var out delivery.FannedOut
		out, err = s.fanOutAside(ctx, tenantID, now)
		more = out.More
	}
	if err = errors.Join(err, ctx.Err()); err != nil {
		return fmt.Errorf("fanning out all events: %w", err)
	}
	return nil
}

// aged reports whether the first event after the cursor is that old, from the future, or cannot be read.
func (s *Store) aged(now time.Time, age time.Duration) bool {
	if age <= 0 {
		return true
	}
	created, err := sqlite.Value[string](sqlite.Direct(s.app.ConcurrentDB()), firstSQL)
	return err != nil || created <= stamp.Stored(now.Add(-age)) || created > stamp.Stored(now)
}

// fanOutOld fans out the next events, and skips those that no webhook wants.
func (s *Store) fanOutOld(lag int, now time.Time) (out delivery.FannedOut, err error) {
	wanted, more, err := s.wantsNext()
	if err == nil && !wanted && !more {
		err = s.skipUnwanted()
	}
	if err != nil || !wanted {
		return delivery.FannedOut{More: more}, err
	}
	var f fannedOut
	if lag < fewEvents {
		err = s.write(fanOutOrder{limit: smallFanOut}, func(tx sqlite.Reader, order fanOutOrder) (_ []sqlite.Statement, err error) {
			f, err = s.planFanOut(tx, order, now)
			return f.statements, err
		})
		more = f.rows >= smallFanOut
	} else {
		f, more, err = s.nextChunk(&s.chunks, now)
	}
	return delivery.FannedOut{Pending: f.pending, More: more}, err
}

// wantsNext decides the recipients of the next events after the cursor. It reports whether a webhook wants one of them and, if not, whether there
// may be more events. s.unwanted remembers the last one that no webhook wants.
func (s *Store) wantsNext() (wanted, more bool, err error) {
	err = s.snapshot(func(tx sqlite.Reader) error {
		newest, err := sqlite.Value[string](tx, nobodySQL)
		if err != nil {
			return err
		}
		if newest != "" {
			s.unwanted = newest
			return nil
		}
		events, err := readAfter(tx, s.unwanted, math.MaxInt64, smallFanOut)
		if err != nil || len(events) == 0 {
			return err
		}
		recipients, err := s.recipients(tx, ahead)
		if err != nil {
			return err
		}
		for _, e := range events {
			webhooks, _, err := recipients.of(e)
			if wanted = len(webhooks) > 0 || recipients.aside[e.tenant]; wanted || err != nil {
				return err
			}
			s.unwanted = e.id
		}
		more = len(events) == smallFanOut
		return nil
	})
	return wanted, more, err
}

// skipUnwanted moves the cursor past events without recipients, once a second, because a commit for that alone delays other writers.
func (s *Store) skipUnwanted() error {
	if s.unwanted == "" || time.Since(s.moved) < movePause {
		return nil
	}
	s.moved = time.Now()
	_, err := sqlite.Execute(s.app, statement(skipSQL, s.unwanted))
	return err
}

// nextChunk fans out the next chunk of events, and reports whether there may be more.
func (s *Store) nextChunk(chunks *sqlite.Chunks, now time.Time) (f fannedOut, more bool, err error) {
	order := fanOutOrder{}
	err = s.decideFirst(&order, now, func() error {
		more, err = chunks.NextFor("", s.app, func(tx core.App, rows int) (_ int, err error) {
			order.limit = max(rows, smallFanOut)
			if f, err = s.planFanOut(sqlite.ReaderOf(tx), order, now); err == nil {
				_, err = sqlite.Run(tx, f.statements)
			}
			return f.rows, err
		})
		return err
	})
	return f, more, err
}

// lag returns how many events are after the cursor.
func (s *Store) lag() (n int, err error) {
	err = s.read(lagSQL, func(rows *sql.Rows) error { return rows.Scan(&n) })
	return n, err
}

// write calls a write function that fans out by the order.
func (s *Store) write(order fanOutOrder, plan func(tx sqlite.Reader, order fanOutOrder) ([]sqlite.Statement, error)) error {
	return s.decideFirst(&order, time.Now(), func() error {
		_, err := sqlite.Write(s.app, func(tx sqlite.Reader) ([]sqlite.Statement, error) { return plan(tx, order) })
		return err
	})
}

// maxUndecided is how often decideFirst begins again because webhooks or events have changed.
const maxUndecided = 5

// decideFirst calls do, which fans out by the order in a transaction. If recipients of the events are undecided, decideFirst decides them
// on the reading pool, without the writer lock, and calls do again.
func (s *Store) decideFirst(order *fanOutOrder, now time.Time, do func() error) error {
	for attempt := 1; ; attempt++ {
		if order.how = writing; attempt == maxUndecided {
			order.how = anywhere
		}
		err := do()
		if !errors.Is(err, errUndecided) {
			return err
		}
		order.how = ahead
		err = s.snapshot(func(tx sqlite.Reader) error {
			_, err := s.planFanOut(tx, *order, now)
			return err
		})
		if err != nil {
			return err
		}
	}
}

// fannedOut has the statements that fan out events, the number of events and of rows, and the endpoints with new pending deliveries.
type fannedOut struct {
	statements   []sqlite.Statement
	events, rows int
	pending      []delivery.Ready
	finished     []finished // the results among the rows
}

// newEvent is an event after the cursor.
type newEvent struct {
	id      string
	tenant  string
	kind    event.Kind
	contact string
	created string
	row     int64
}

// fanOutOrder selects what to fan out. The rows exceed limit by at most manyRecipients.
type fanOutOrder struct {
	limit   int
	results map[target]delivery.Result // if any: only the events up to the last one with a result
	how     deciding
}

// planFanOut fans out the first events after the cursor.
func (s *Store) planFanOut(tx sqlite.Reader, order fanOutOrder, now time.Time) (f fannedOut, err error) {
	last := int64(math.MaxInt64)
	if order.results != nil {
		if last, err = lastAnswered(tx, order.results); err != nil {
			return f, err
		}
	}
	events, err := readAfter(tx, "", last, order.limit)
	if err != nil || len(events) == 0 {
		return f, err
	}
	recipients, err := s.recipients(tx, order.how)
	if err != nil {
		return f, err
	}
	inserts := inserts{fanOutOrder: order, at: stamp.Stored(now)}
	for _, e := range events {
		if f.rows >= order.limit {
			break
		}
		webhooks, aside, err := recipients.of(e)
		if err != nil {
			return f, err
		}
		if aside {
			f.statements = append(f.statements, statement(setAsideSQL, e.tenant, e.id))
		}
		for _, webhook := range webhooks {
			inserts.add(&f, e, webhook)
		}
		f.events++
		f.rows += 1 + len(webhooks)
	}
	deliveries, err := inserts.statements(tx, f.finished)
	if err != nil {
		return f, err
	}
	f.statements = append(append(f.statements, deliveries...), statement(moveSQL, events[f.events-1].id))
	return f, nil
}

// lastAnswered returns the row of the last event with a result.
func lastAnswered(tx sqlite.Reader, results map[target]delivery.Result) (int64, error) {
	ids := make([]string, 0, len(results))
	for t := range results {
		ids = append(ids, t.event)
	}
	return sqlite.Value[int64](tx, lastSQL, sqlite.List(ids))
}

// readAfter reads the first events after the cursor, and after the event with that id, "" for none, up to the last row.
func readAfter(tx sqlite.Reader, after string, last int64, limit int) (events []newEvent, err error) {
	err = sqlite.Each(tx, afterSQL, func(rows *sql.Rows) error {
		var e newEvent
		err := rows.Scan(&e.id, &e.tenant, &e.kind, &e.contact, &e.created, &e.row)
		events = append(events, e)
		return err
	}, limit, after, last)
	return events, err
}
