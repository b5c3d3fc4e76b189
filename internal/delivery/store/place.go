package store

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"time"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/sqlite"
	"contactbase/internal/stamp"
)

// Events get their deliveries behind a position: `_position` names the last event that has them. The order of events is
// the order of their rows, because transactions commit one after the other and VACUUM keeps that order. The position is
// an id all the same, because VACUUM may renumber rows; a trigger keeps it on an event that exists.

// positionRow selects the row of the event at the position, 0 before the first event.
const positionRow = "coalesce((SELECT last.rowid FROM `_position` CROSS JOIN `events` last ON last.`id` = `_position`.`event`), 0)"

// waitingSQL returns how many events are behind the position: those are not deleted one by one, and so their rows follow
// each other. firstSQL returns when the first of them was made. behindSQL reads the first ?1 of them that are also behind the
// event ?2, where there is one, and not behind the row ?3. lastSQL returns the row of the last one of the events in ?1.
const (
	waitingSQL = "SELECT max(0, coalesce((SELECT max(rowid) FROM `events`), 0) - " + positionRow + ")"
	firstSQL   = "SELECT `created` FROM `events` WHERE rowid > " + positionRow + " ORDER BY rowid LIMIT 1"
	behindSQL  = "SELECT `id`, `tenant`, `type`, `contact`, `created` FROM `events` " +
		"WHERE rowid > max(" + positionRow + ", coalesce((SELECT rowid FROM `events` WHERE `id` = ?2), 0)) AND rowid <= ?3 ORDER BY rowid LIMIT ?1"
	lastSQL = "SELECT coalesce(max(e.rowid), 0) FROM json_each(?1) j CROSS JOIN `events` e ON e.`id` = j.`value`"
)

// wanted is the condition on a webhook w to get the events of the type that stands for %s: no chosen kinds mean all.
const wanted = "(w.`events` IN ('', '[]', 'null') OR EXISTS (SELECT 1 FROM json_each(w.`events`) k WHERE k.value = %s))"

// nobodySQL returns the newest event where there is no webhook that could want it, which one statement has to see. It names the
// row, because in the order of the rows SQLite would pass over all of them where there is a webhook.
const nobodySQL = "SELECT `id` FROM `events` WHERE rowid = (SELECT max(rowid) FROM `events`) AND NOT EXISTS (SELECT 1 FROM `webhooks` WHERE `disabled` = 0)"

// wantedSQL returns the webhooks of the tenant ?1 that get its events of the type ?2.
var wantedSQL = "SELECT w.`id` FROM `webhooks` w WHERE w.`tenant` = ?1 AND w.`disabled` = 0 AND " + fmt.Sprintf(wanted, "?2") +
	" AND EXISTS (SELECT 1 FROM `tenants` t WHERE t.`id` = ?1 AND t.`apiEnabled` = 1)"

// newDelivery begins a statement that inserts deliveries, and once ends it.
const (
	newDelivery = "INSERT INTO `deliveries` (`id`, `event`, `webhook`, `tenant`, `status`, `attempts`, `nextAttempt`, `lastStatus`, `lastError`, `leaseUntil`, `created`, `updated`, `contact`, `blocked`) "
	once        = " ON CONFLICT DO NOTHING"
)

// placeSQL inserts a delivery, with a result where there is one. moveSQL moves the position to the event ?1.
const (
	placeSQL = newDelivery + "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, 0)" + once
	moveSQL  = "UPDATE `_position` SET `event` = ?1"

	// skipSQL moves the position to the event ?1, unless that is gone or the position is behind it already.
	skipSQL = moveSQL + " WHERE (SELECT rowid FROM `events` WHERE `id` = ?1) > " + positionRow
)

const (
	// manyEvents is how many events behind the position are too many to be sent before they are placed.
	manyEvents = 1_000
	// fewEvents is how many events behind the position are few: they share the commit of others.
	fewEvents = 50
	// shortTurn is how many events and deliveries, together, are written in such a commit: some 3 ms.
	shortTurn = 200
	// movePause is for how long the position stays where it is while no webhook wants what is behind it.
	movePause = time.Second
	// longTurn is how many are written by one statement in somebody's transaction.
	longTurn = 5_000
)

// Place implements delivery.Queue.
func (s *Store) Place(ctx context.Context, now time.Time, age time.Duration) (more bool, err error) {
	waiting, err := s.waiting(ctx)
	if err == nil && waiting > 0 && (waiting >= manyEvents || s.aged(now, age)) {
		more, err = s.placeSome(waiting, now)
	}
	if err != nil {
		return false, fmt.Errorf("placing events: %w", err)
	}
	return more, nil
}

// aged tells whether the first event behind the position is that old, or from the future. It is where nobody can tell.
func (s *Store) aged(now time.Time, age time.Duration) bool {
	if age <= 0 {
		return true
	}
	created, err := sqlite.Value[string](sqlite.Direct(s.app.ConcurrentDB()), firstSQL)
	return err != nil || created <= stamp.Stored(now.Add(-age)) || created > stamp.Stored(now)
}

func (s *Store) placeSome(waiting int, now time.Time) (more bool, err error) {
	s.placing.Lock()
	defer s.placing.Unlock()
	if wanted, more, err := s.look(); err != nil || !wanted {
		return more, err
	}
	var p placement
	if waiting < fewEvents {
		_, err = s.commit(func(tx sqlite.Reader) (_ []sqlite.Statement, err error) {
			p, err = s.planPlacing(tx, placing{limit: shortTurn}, now)
			return p.statements, err
		})
		more = p.rows >= shortTurn
	} else {
		more, err = s.chunks.Next(s.app, func(tx core.App, limit int) (_ int, err error) {
			p, err = s.place(tx, max(limit, shortTurn), now)
			return p.rows, err
		})
	}
	s.noteReady(p.endpoints, now)
	return more, err
}

// look reads the next events behind the position, beside the writer, and tells whether a webhook wants one of them. Where none
// does, only the position would move, and a commit for that alone holds up whoever writes next. So it comes once a second, and
// until then those events are remembered. Nothing changes who wants them without placing them first.
func (s *Store) look() (wanted, more bool, err error) {
	tx := sqlite.Direct(s.app.ConcurrentDB())
	newest, err := sqlite.Value[string](tx, nobodySQL)
	if err != nil {
		return false, false, err
	}
	if newest != "" {
		s.unwanted = newest
	} else if wanted, more, err = s.lookBehind(tx); wanted || err != nil {
		return wanted, false, err
	}
	if more || s.unwanted == "" || time.Since(s.moved) < movePause {
		return false, more, nil
	}
	s.moved = time.Now()
	_, err = s.commit(func(sqlite.Reader) ([]sqlite.Statement, error) {
		return []sqlite.Statement{statement(skipSQL, s.unwanted)}, nil
	})
	return false, false, err
}

// lookBehind reads events until a webhook wants one, and tells whether there may be more.
func (s *Store) lookBehind(tx sqlite.Reader) (wanted, more bool, err error) {
	events, err := readBehind(tx, s.unwanted, math.MaxInt64, shortTurn)
	if err != nil {
		return false, false, err
	}
	recipients := recipients{}
	for _, e := range events {
		webhooks, err := recipients.of(tx, e)
		if err != nil || len(webhooks) > 0 {
			return true, false, err
		}
		s.unwanted = e.id
	}
	return false, len(events) == shortTurn, nil
}

// PlaceAll implements delivery.Participant.
func (s *Store) PlaceAll(ctx context.Context, app core.App) error {
	now := time.Now()
	var err error
	if app.IsTransactional() {
		for p := (placement{rows: longTurn}); err == nil && p.rows >= longTurn; {
			p, err = s.place(app, longTurn, now)
		}
	} else {
		err = s.placeInSteps(ctx, app, now)
	}
	if err != nil {
		return fmt.Errorf("placing all events: %w", err)
	}
	s.forgetReady()
	return nil
}

// placeInSteps places the events that are behind the position now, and not those that others write meanwhile: they might
// be faster.
func (s *Store) placeInSteps(ctx context.Context, app core.App, now time.Time) error {
	left, err := s.waiting(ctx)
	var chunks sqlite.Chunks
	for more := true; more && left > 0 && err == nil; {
		if err := ctx.Err(); err != nil {
			return err
		}
		more, err = chunks.Next(app, func(tx core.App, limit int) (int, error) {
			p, err := s.place(tx, max(limit, shortTurn), now)
			left -= p.events
			return p.rows, err
		})
	}
	return err
}

// waiting returns how many events are behind the position.
func (s *Store) waiting(ctx context.Context) (n int, err error) {
	err = s.read(ctx, waitingSQL, func(rows *sql.Rows) error { return rows.Scan(&n) })
	return n, err
}

// place places events in the caller's transaction until so many rows are written.
func (s *Store) place(tx core.App, limit int, now time.Time) (placement, error) {
	p, err := s.planPlacing(sqlite.ReaderOf(tx), placing{limit: limit}, now)
	if err == nil {
		_, err = sqlite.Run(tx, p.statements)
	}
	return p, err
}

// planRest returns the statements that place whatever is behind the position.
func (s *Store) planRest(tx sqlite.Reader, now time.Time) ([]sqlite.Statement, error) {
	p, err := s.planPlacing(tx, placing{limit: math.MaxInt32}, now)
	return p.statements, err
}
