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
	afterSQL = "SELECT `id`, `tenant`, `type`, `contact`, `created` FROM `events` " +
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
	// largeFanOut is how many one statement writes in a caller's transaction.
	largeFanOut = 5_000
)

// FanOutOld implements delivery.Queue.
func (s *Store) FanOutOld(_ context.Context, now time.Time, age time.Duration) (out delivery.FannedOut, err error) {
	lag, err := s.lag()
	if err == nil && lag > 0 && (lag >= manyEvents || s.aged(now, age)) {
		out, err = s.fanOutSome(lag, now)
	}
	if err != nil {
		return delivery.FannedOut{}, fmt.Errorf("fanning out events: %w", err)
	}
	return out, nil
}

// aged reports whether the first event after the cursor is that old, from the future, or cannot be read.
func (s *Store) aged(now time.Time, age time.Duration) bool {
	if age <= 0 {
		return true
	}
	created, err := sqlite.Value[string](sqlite.Direct(s.app.ConcurrentDB()), firstSQL)
	return err != nil || created <= stamp.Stored(now.Add(-age)) || created > stamp.Stored(now)
}

func (s *Store) fanOutSome(lag int, now time.Time) (out delivery.FannedOut, err error) {
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
		out.More = f.rows >= smallFanOut
	} else {
		out.More, err = s.nextChunk(s.app, &s.chunks, now, &f)
	}
	out.Pending = f.pending
	return out, err
}

// wantsNext reads the next events after the cursor, without the writer lock, and reports whether a webhook may want one of them, and if not,
// whether there may be more. s.unwanted remembers the last one that no webhook wants: a change of recipients fans out first.
func (s *Store) wantsNext() (wanted, more bool, err error) {
	tx := sqlite.Direct(s.app.ConcurrentDB())
	newest, err := sqlite.Value[string](tx, nobodySQL)
	if err != nil {
		return false, false, err
	}
	if newest != "" {
		s.unwanted = newest
		return false, false, nil
	}
	events, err := readAfter(tx, s.unwanted, math.MaxInt64, smallFanOut)
	if err != nil {
		return false, false, err
	}
	recipients, err := s.recipients(tx, false)
	if err != nil {
		return false, false, err
	}
	for _, e := range events {
		webhooks, _, err := recipients.of(e)
		if err != nil || len(webhooks) > 0 || recipients.aside[e.tenant] {
			return true, false, err
		}
		s.unwanted = e.id
	}
	return false, len(events) == smallFanOut, nil
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

// FanOut implements delivery.Participant.
func (s *Store) FanOut(ctx context.Context, app core.App) error {
	now := time.Now()
	var err error
	if app.IsTransactional() {
		for f := (fannedOut{rows: largeFanOut}); err == nil && f.rows >= largeFanOut; {
			f, err = s.fanOutIn(app, fanOutOrder{limit: largeFanOut}, now)
		}
	} else {
		err = s.fanOutInChunks(ctx, app, now)
	}
	if err != nil {
		return fmt.Errorf("fanning out all events: %w", err)
	}
	return nil
}

// fanOutInChunks fans out the events that are after the cursor now. It would never end with those that are written meanwhile.
func (s *Store) fanOutInChunks(ctx context.Context, app core.App, now time.Time) error {
	left, err := s.lag()
	var chunks sqlite.Chunks
	for more := true; more && left > 0 && err == nil; {
		if err := ctx.Err(); err != nil {
			return err
		}
		var f fannedOut
		more, err = s.nextChunk(app, &chunks, now, &f)
		left -= f.events
	}
	return err
}

// nextChunk fans out the next chunk of events, and reports whether there may be more.
func (s *Store) nextChunk(app core.App, chunks *sqlite.Chunks, now time.Time, f *fannedOut) (more bool, err error) {
	limit := 0
	err = s.decideFirst(func(undecided bool) error {
		more, err = chunks.Next(app, func(tx core.App, rows int) (_ int, err error) {
			limit = max(rows, smallFanOut)
			*f, err = s.fanOutIn(tx, fanOutOrder{limit: limit, undecided: undecided}, now)
			return f.rows, err
		})
		return err
	}, func() fanOutOrder { return fanOutOrder{limit: limit} })
	return more, err
}

// lag returns how many events are after the cursor.
func (s *Store) lag() (n int, err error) {
	err = s.read(lagSQL, func(rows *sql.Rows) error { return rows.Scan(&n) })
	return n, err
}

// fanOutIn fans out events in the caller's transaction.
func (s *Store) fanOutIn(tx core.App, order fanOutOrder, now time.Time) (fannedOut, error) {
	f, err := s.planFanOut(sqlite.ReaderOf(tx), order, now)
	if err == nil {
		_, err = sqlite.Run(tx, f.statements)
	}
	return f, err
}

// everything fans out all events after the cursor.
var everything = fanOutOrder{limit: math.MaxInt32}

// planAll returns the statements that fan out all events after the cursor.
func (s *Store) planAll(tx sqlite.Reader, order fanOutOrder, now time.Time) ([]sqlite.Statement, error) {
	f, err := s.planFanOut(tx, order, now)
	return f.statements, err
}

// write calls a write function that fans out what order says. Filters are evaluated before it: see decideFirst.
func (s *Store) write(order fanOutOrder, plan func(tx sqlite.Reader, order fanOutOrder) ([]sqlite.Statement, error)) error {
	return s.decideFirst(func(undecided bool) error {
		_, err := sqlite.Write(s.app, func(tx sqlite.Reader) ([]sqlite.Statement, error) {
			attempt := order
			attempt.undecided = undecided
			return plan(tx, attempt)
		})
		return err
	}, func() fanOutOrder { return order })
}

// maxUndecided is how often decideFirst begins again because webhooks or events have changed.
const maxUndecided = 5

// decideFirst calls do, which fans out in a transaction and must not evaluate filters there while it is called with true. If filters have to be
// evaluated, that is done on the reading pool, without the writer lock, and do is called again.
func (s *Store) decideFirst(do func(undecided bool) error, order func() fanOutOrder) error {
	for attempt := 1; ; attempt++ {
		err := do(attempt < maxUndecided)
		if !errors.Is(err, errUndecided) {
			return err
		}
		if _, err := s.planFanOut(sqlite.Direct(s.app.ConcurrentDB()), order(), time.Now()); err != nil {
			return err
		}
	}
}
