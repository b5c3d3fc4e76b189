package store

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"time"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/delivery"
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
		more, err = s.pace.Step(s.app, func(tx core.App, limit int) (_ int, err error) {
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
	var pace sqlite.Pace
	for more := true; more && left > 0 && err == nil; {
		if err := ctx.Err(); err != nil {
			return err
		}
		more, err = pace.Step(app, func(tx core.App, limit int) (int, error) {
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

// placement is the statements that place events, how many events, how many rows they write, and for which endpoints.
type placement struct {
	statements   []sqlite.Statement
	events, rows int
	endpoints    map[string]string // tenants by webhooks
	stored       []stored          // the results among the rows
}

// unplaced is an event behind the position.
type unplaced struct {
	id      string
	tenant  string
	kind    event.Kind
	contact string
	created string
}

// placing says what to place. Fewer rows than limit are written where no event is left, and otherwise no more than the webhooks of
// one event beyond it.
type placing struct {
	limit    int
	results  map[target]delivery.Result // of deliveries that are not placed; those that are stored with them are taken out
	answered bool                       // the events up to the last one with a result, and no others
}

// planPlacing places the first events behind the position.
func (s *Store) planPlacing(tx sqlite.Reader, order placing, now time.Time) (p placement, err error) {
	last := int64(math.MaxInt64)
	if order.answered {
		if last, err = lastAnswered(tx, order.results); err != nil {
			return p, err
		}
	}
	events, err := readBehind(tx, "", last, order.limit)
	if err != nil || len(events) == 0 {
		return p, err
	}
	recipients := recipients{}
	p.endpoints = map[string]string{}
	at := stamp.Stored(now)
	var placed [][]any // the arguments of placeSQL
	var answered []int // those of them with a result
	var inLine []lineless
	for _, e := range events {
		if p.rows >= order.limit {
			break
		}
		webhooks, err := recipients.of(tx, e)
		if err != nil {
			return p, err
		}
		for _, webhook := range webhooks {
			if result, found := order.results[target{e.id, webhook}]; found {
				placed = append(placed, e.answered(result, at))
				p.stored = append(p.stored, stored{result: result})
				answered = append(answered, len(placed)-1)
				delete(order.results, target{e.id, webhook})
			} else {
				placed = append(placed, e.pending(webhook, s.held.unplaced(webhook, e.id), at))
				p.endpoints[webhook] = e.tenant
			}
			if e.contact != "" {
				inLine = append(inLine, lineless{e.id, webhook, e.contact})
			}
		}
		p.events++
		p.rows += 1 + len(webhooks)
	}
	if err := avoidTaken(tx, placed); err != nil {
		return p, err
	}
	for i, row := range answered {
		p.stored[i].delivery = placed[row][0].(string)
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

// target is what a delivery brings together.
type target struct{ event, webhook string }

// lastAnswered returns the row of the last event of which there is a result.
func lastAnswered(tx sqlite.Reader, results map[target]delivery.Result) (int64, error) {
	ids := make([]string, 0, len(results))
	for t := range results {
		ids = append(ids, t.event)
	}
	encoded, err := list(ids)
	if err != nil {
		return 0, err
	}
	return sqlite.Value[int64](tx, lastSQL, encoded)
}

// deliveryID returns the id of an event's delivery to a webhook. It is known before there is the delivery: what was in flight when the
// process died goes out under the same id again.
func deliveryID(happened time.Time, event, webhook string) string {
	return recordid.Derived(happened, event, webhook)
}

// takenSQL returns the numbers of those of the ids in ?1, each with an event and a webhook, that another delivery has.
const takenSQL = `SELECT j.key FROM json_each(?1) j CROSS JOIN deliveries d ON d.id = j.value ->> 0
WHERE d.event != j.value ->> 1 OR d.webhook != j.value ->> 2`

// avoidTaken gives rows to be placed another id where theirs is another delivery's.
func avoidTaken(tx sqlite.Reader, placed [][]any) error {
	if len(placed) == 0 {
		return nil
	}
	ids, seen, taken := make([][]any, len(placed)), make(map[any]bool, len(placed)), make([]bool, len(placed))
	for i, row := range placed {
		ids[i] = row[:3]
		taken[i] = seen[row[0]]
		seen[row[0]] = true
	}
	encoded, err := list(ids)
	if err != nil {
		return err
	}
	err = sqlite.Each(tx, takenSQL, func(rows *sql.Rows) error {
		var number int
		err := rows.Scan(&number)
		taken[number] = true
		return err
	}, encoded)
	for i, row := range placed {
		if taken[i] {
			row[0] = recordid.New(time.Now())
		}
	}
	return err
}

// pending returns the arguments of placeSQL for a delivery that is not over. Where it is in flight it is placed as claimed.
func (e unplaced) pending(webhook string, flying *delivery.Job, at string) []any {
	lease := ""
	if flying != nil {
		lease = stamp.Stored(flying.Lease)
	}
	made := min(e.created, at) // a clock may have been ahead
	return []any{deliveryID(stamp.Parse(e.created), e.id, webhook), e.id, webhook, e.tenant, delivery.StatusPending, 0, made, 0, "", lease, made, made, e.contact}
}

// answered returns the arguments of placeSQL for a delivery of which an attempt was made.
func (e unplaced) answered(result delivery.Result, at string) []any {
	next := ""
	if result.Decision.Status == delivery.StatusPending {
		next = stamp.Stored(result.Decision.Next)
	}
	return []any{
		result.Job.DeliveryID, e.id, result.Job.Endpoint.WebhookID, e.tenant, result.Decision.Status, result.Job.Attempt, next,
		result.Attempt.Status, result.Attempt.LastError(), "", min(e.created, at), at, e.contact,
	}
}

// readBehind reads the first events behind the position, and behind the event with that id, "" for none, up to the last row.
func readBehind(tx sqlite.Reader, after string, last int64, limit int) (events []unplaced, err error) {
	err = sqlite.Each(tx, behindSQL, func(rows *sql.Rows) error {
		var e unplaced
		err := rows.Scan(&e.id, &e.tenant, &e.kind, &e.contact, &e.created)
		events = append(events, e)
		return err
	}, limit, after, last)
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
