package store

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"time"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/event"
	"contactbase/internal/recordid"
	"contactbase/internal/sqlite"
	"contactbase/internal/stamp"
)

// Events get their deliveries behind a position: `_position` names the last event that has them. The order of events is
// the order of their rows, because transactions commit one after the other and VACUUM keeps that order. The position is
// an id all the same, because VACUUM may renumber rows; a trigger keeps it on an event that exists.

// positionRow selects the row of the event at the position, 0 before the first event.
const positionRow = "coalesce((SELECT last.rowid FROM `_position` CROSS JOIN `events` last ON last.`id` = `_position`.`event`), 0)"

// waitingSQL returns how many events are behind the position: those are not deleted one by one, and so their rows follow
// each other. behindSQL reads the first ?1 of them that are also behind the event ?2, where there is one.
const (
	waitingSQL = "SELECT max(0, coalesce((SELECT max(rowid) FROM `events`), 0) - " + positionRow + ")"
	behindSQL  = "SELECT `id`, `tenant`, `type`, `contact`, `created` FROM `events` " +
		"WHERE rowid > max(" + positionRow + ", coalesce((SELECT rowid FROM `events` WHERE `id` = ?2), 0)) ORDER BY rowid LIMIT ?1"
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
	once        = " ON CONFLICT (`event`, `webhook`) DO NOTHING"
)

// placeSQL inserts the delivery of the event ?1 to the webhook ?2 of the tenant ?3, made at ?4 and about the contact ?5. moveSQL moves
// the position to the event ?1.
const (
	placeSQL = newDelivery + "VALUES (" + recordid.Function + ", ?1, ?2, ?3, 'pending', 0, ?4, 0, '', '', ?4, ?4, ?5, 0)" + once
	moveSQL  = "UPDATE `_position` SET `event` = ?1"

	// skipSQL moves the position to the event ?1, unless that is gone or the position is behind it already.
	skipSQL = moveSQL + " WHERE (SELECT rowid FROM `events` WHERE `id` = ?1) > " + positionRow
)

const (
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
func (s *Store) Place(ctx context.Context, now time.Time) (more bool, err error) {
	waiting, err := s.waiting(ctx)
	if err == nil && waiting > 0 {
		more, err = s.placeSome(waiting, now)
	}
	if err != nil {
		return false, fmt.Errorf("placing events: %w", err)
	}
	return more, nil
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
			p, err = planPlacing(tx, shortTurn, now)
			return p.statements, err
		})
		more = p.rows >= shortTurn
	} else {
		more, err = s.pace.Step(s.app, func(tx core.App, limit int) (_ int, err error) {
			p, err = place(tx, max(limit, shortTurn), now)
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
	events, err := readBehind(tx, s.unwanted, shortTurn)
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
			p, err = place(app, longTurn, now)
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
	var pace sqlite.Pace
	for more := true; more && left > 0 && err == nil; {
		if err := ctx.Err(); err != nil {
			return err
		}
		more, err = pace.Step(app, func(tx core.App, limit int) (int, error) {
			p, err := place(tx, max(limit, shortTurn), now)
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
func place(tx core.App, limit int, now time.Time) (placement, error) {
	p, err := planPlacing(sqlite.ReaderOf(tx), limit, now)
	if err == nil {
		_, err = sqlite.Run(tx, p.statements)
	}
	return p, err
}

// planRest returns the statements that place whatever is behind the position.
func planRest(tx sqlite.Reader, now time.Time) ([]sqlite.Statement, error) {
	p, err := planPlacing(tx, math.MaxInt32, now)
	return p.statements, err
}

// placement is the statements that place events, how many events, how many rows they write, and for which endpoints.
type placement struct {
	statements   []sqlite.Statement
	events, rows int
	endpoints    map[string]string // tenants by webhooks
}

// unplaced is an event behind the position.
type unplaced struct {
	id      string
	tenant  string
	kind    event.Kind
	contact string
	created string
}

// planPlacing places the first events behind the position. It writes fewer rows than limit where no event is left, and
// otherwise no more than the webhooks of one event beyond it.
func planPlacing(tx sqlite.Reader, limit int, now time.Time) (p placement, err error) {
	events, err := readBehind(tx, "", limit)
	if err != nil || len(events) == 0 {
		return p, err
	}
	recipients := recipients{}
	p.endpoints = map[string]string{}
	at := stamp.Stored(now)
	var placed [][]any
	var inLine []lineless
	for _, e := range events {
		if p.rows >= limit {
			break
		}
		webhooks, err := recipients.of(tx, e)
		if err != nil {
			return p, err
		}
		for _, webhook := range webhooks {
			placed = append(placed, []any{e.id, webhook, e.tenant, min(e.created, at), e.contact}) // a clock may have been ahead
			p.endpoints[webhook] = e.tenant
			if e.contact != "" {
				inLine = append(inLine, lineless{e.id, webhook, e.contact})
			}
		}
		p.events++
		p.rows += 1 + len(webhooks)
	}
	if len(placed) > 0 {
		p.statements = append(p.statements, sqlite.Repeat(placeSQL, placed))
	}
	behind, err := behindOthers(tx, inLine)
	if err == nil && len(behind) > 0 {
		var next sqlite.Statement
		next, err = lined(lineUpEventsSQL, behind, at)
		p.statements = append(p.statements, next)
	}
	p.statements = append(p.statements, statement(moveSQL, events[p.events-1].id))
	return p, err
}

// readBehind reads the first events behind the position, and behind the event with that id, "" for none.
func readBehind(tx sqlite.Reader, after string, limit int) (events []unplaced, err error) {
	err = sqlite.Each(tx, behindSQL, func(rows *sql.Rows) error {
		var e unplaced
		err := rows.Scan(&e.id, &e.tenant, &e.kind, &e.contact, &e.created)
		events = append(events, e)
		return err
	}, limit, after)
	return events, err
}

// recipients remembers which webhooks get the events of a tenant and a kind.
type recipients map[[2]string][]string

// of returns the webhooks that get the event. A ping has its one delivery from the beginning.
func (r recipients) of(tx sqlite.Reader, e unplaced) (webhooks []string, err error) {
	if e.kind == event.WebhookPing {
		return nil, nil
	}
	key := [2]string{e.tenant, string(e.kind)}
	if webhooks, known := r[key]; known {
		return webhooks, nil
	}
	webhooks, err = sqlite.Values[string](tx, wantedSQL, e.tenant, string(e.kind))
	if err != nil {
		return nil, fmt.Errorf("reading which webhooks want %s: %w", e.kind, err)
	}
	r[key] = webhooks
	return webhooks, nil
}
