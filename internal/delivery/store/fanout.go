package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/delivery"
	"contactbase/internal/event"
	"contactbase/internal/recordid"
	"contactbase/internal/sqlite"
	"contactbase/internal/stamp"
	"contactbase/internal/tenant"
)

// Fan-out reads the events after the cursor and decides their recipients on the reading pool. One write function then
// inserts the deliveries and moves the cursor, unless the cursor, the webhooks or the events have changed since: then
// nothing is written, and all is decided again.
//
// `_fanOutCursor` has the id of the last event that is fanned out. Events are in the order of their rows, because
// transactions commit one after the other and VACUUM keeps that order. But VACUUM may renumber rows, so the cursor is
// an id; a trigger keeps it on an event that exists.

// cursorRow selects the row of the event at the cursor, 0 before the first event.
const cursorRow = "coalesce((SELECT last.rowid FROM `_fanOutCursor` " +
	"CROSS JOIN `events` last ON last.`id` = `_fanOutCursor`.`event`), 0)"

// fannedOutSQL returns the condition that an event has all its deliveries.
func fannedOutSQL(e string) string { return "(" + e + ".rowid <= " + cursorRow + ")" }

const (
	// maxEvents is how many events a fan-out reads.
	maxEvents = 200
	// maxRows is how many deliveries it writes, some 3 ms: all those of an event, unless its tenant has more webhooks
	// than it may have.
	maxRows = tenant.MaxWebhooks
	// maxSteps is how many steps of filters it takes until it writes: 5 ms. The last event may exceed it.
	maxSteps = 50_000
	// movePause is how long the cursor waits while no webhook wants the events after it, because a commit for that
	// alone delays other writers.
	movePause = time.Second
)

// FanOut implements delivery.Queue.
func (s *Store) FanOut(_ context.Context, now time.Time) (delivery.FannedOut, error) {
	f, err := s.decide()
	if err == nil && (f.at.passed == 0 || f.worthless() && time.Since(s.moved) < movePause) {
		return delivery.FannedOut{}, nil
	}
	if err == nil {
		f, err = s.write(sqlite.WriteDerived, f, now)
	}
	if err != nil {
		return delivery.FannedOut{}, fmt.Errorf("fanning out events: %w", err)
	}
	s.moved = time.Now()
	return delivery.FannedOut{Pending: f.ready(), More: f.more}, nil
}

// CatchUp fans out the events that are after the cursor now.
func (s *Store) CatchUp(ctx context.Context) error {
	left, err := sqlite.Value[int](sqlite.Direct(s.app.ConcurrentDB()), lagSQL)
	for err == nil && left > 0 { // with events written meanwhile, it might never end
		if err = ctx.Err(); err != nil {
			break
		}
		var f fanOut
		if f, err = s.decide(); err != nil || f.at.passed == 0 {
			break
		}
		// a command need not know whether the server has a replica
		f, err = s.write(sqlite.Write, f, time.Now())
		left -= f.at.passed
	}
	if err != nil {
		return fmt.Errorf("fanning out all events: %w", err)
	}
	return nil
}

// lagSQL returns how many events are after the cursor, whose rows have no gaps.
const lagSQL = "SELECT max(0, coalesce((SELECT max(rowid) FROM `events`), 0) - " + cursorRow + ")"

// fanOut is what a fan-out writes, decided at a position.
type fanOut struct {
	at       position
	last     string // the last event of the deliveries
	stays    bool   // whether the last event needs more deliveries than these, so that the cursor stays
	rows     []newDelivery
	filtered bool // whether it took filters to decide
	more     bool // whether there may be more events, or deliveries of the last one
}

// newDelivery is a delivery to insert.
type newDelivery struct {
	newEvent
	webhook string
}

// worthless reports whether all that can be written is that the cursor moves past a few events that nobody asks for.
func (f *fanOut) worthless() bool { return len(f.rows) == 0 && !f.filtered && !f.more }

// ready returns the endpoints of the deliveries.
func (f *fanOut) ready() (ready []delivery.Ready) {
	seen := map[string]bool{}
	for _, row := range f.rows {
		if !seen[row.webhook] {
			seen[row.webhook] = true
			ready = append(ready, delivery.Ready{Webhook: row.webhook, Tenant: row.tenant})
		}
	}
	return ready
}

// decide decides who receives the next events after the cursor, as many as one write takes.
func (s *Store) decide() (f fanOut, err error) {
	err = s.snapshot(func(tx sqlite.Reader) (err error) {
		if f.at, err = readPosition(tx, ""); err != nil {
			return err
		}
		events, err := readAfter(tx)
		if err != nil || len(events) == 0 {
			return err
		}
		recipients, err := s.recipients(tx, f.at.version)
		if err != nil {
			return err
		}
		f.more = len(events) == maxEvents
		for _, e := range events {
			full, err := f.take(recipients, e)
			if f.more = f.more || full; err != nil || full {
				return err
			}
		}
		return nil
	})
	return f, err
}

// take decides who receives the next event, and reports whether no other event fits into the write. If its deliveries
// do not fit beside those of earlier events, it is left to the next write.
func (f *fanOut) take(r *recipients, e newEvent) (full bool, err error) {
	webhooks, err := r.of(e)
	if err == nil && len(webhooks) > maxRows {
		webhooks, err = withoutDelivery(r.tx, e.id, webhooks)
	}
	if err != nil || len(f.rows) > 0 && len(f.rows)+len(webhooks) > maxRows {
		return true, err
	}
	f.at.passed++
	f.last, f.stays, f.filtered = e.id, len(webhooks) > maxRows, r.steps > 0
	for _, webhook := range webhooks[:min(maxRows, len(webhooks))] {
		f.rows = append(f.rows, newDelivery{e, webhook})
	}
	return f.stays || r.steps > maxSteps, nil
}

// writing is sqlite.Write or sqlite.WriteDerived.
type writing func(core.App, sqlite.WriteFunc) ([]int64, error)

// write inserts the deliveries and moves the cursor, and returns what it has written: nothing if all is to be decided
// again.
func (s *Store) write(write writing, f fanOut, now time.Time) (written fanOut, err error) {
	_, err = write(s.app, func(tx sqlite.Reader) ([]sqlite.Statement, error) {
		written = fanOut{more: true}
		at, err := readPosition(tx, f.last)
		if err != nil || at != f.at {
			return nil, err
		}
		statements, err := f.inserting(tx, stamp.Stored(now))
		if !f.stays {
			statements = append(statements, statement("UPDATE `_fanOutCursor` SET `event` = ?1", f.last))
		}
		written = f
		return statements, err
	})
	if written.stays {
		written.at.passed--
	}
	return written, err
}

// inserting returns the statements that insert the deliveries, and queue them behind earlier ones of the same contact.
func (f *fanOut) inserting(tx sqlite.Reader, now string) ([]sqlite.Statement, error) {
	if len(f.rows) == 0 {
		return nil, nil
	}
	rows := make([][]any, len(f.rows))
	for i, row := range f.rows {
		rows[i] = row.values(recordid.New(time.Now()), now)
	}
	statements := []sqlite.Statement{sqlite.Repeat(insertSQL, rows)}
	behind, err := behindOthers(tx, f.rows)
	if err != nil || len(behind) == 0 {
		return statements, err
	}
	return append(statements, enqueue(enqueueEventsSQL, behind, now)), nil
}

const (
	// insertInto starts a statement that inserts deliveries, and once ends it.
	insertInto = "INSERT INTO `deliveries` (`id`, `event`, `webhook`, `tenant`, `status`, `attempts`, `nextAttempt`, " +
		"`lastStatus`, `lastError`, `created`, `updated`, `contact`, `blocked`) "
	once = " ON CONFLICT (`event`, `webhook`) DO NOTHING"

	// insertSQL inserts a pending delivery: its id, event, webhook and tenant, when it was made, and its contact.
	insertSQL = insertInto + "VALUES (?1, ?2, ?3, ?4, 'pending', 0, ?5, 0, '', ?5, ?5, ?6, 0)" + once
)

// values returns the arguments of insertSQL.
func (d newDelivery) values(id, now string) []any {
	made := min(d.created, now) // a clock may have been ahead
	return []any{id, d.id, d.webhook, d.tenant, made, d.contact}
}

// position is what the decisions of a fan-out depend on.
type position struct {
	cursor  string // the event
	version int64  // of webhooks, tenants, moves and keys: triggers count their changes in `_credentialVersion`
	passed  int    // how many events are after the cursor, up to the last one that is decided
}

// readPosition reads the present position, given the last event that is decided, "" for none. An event that was deleted
// is not among those that the cursor passes.
func readPosition(tx sqlite.Reader, last string) (at position, err error) {
	const query = "SELECT c.`event`, v.`version`, (SELECT count(*) FROM `events` WHERE rowid > " + cursorRow +
		" AND rowid <= (SELECT rowid FROM `events` WHERE `id` = ?1)) " +
		"FROM `_fanOutCursor` c CROSS JOIN `_credentialVersion` v"
	found, err := sqlite.Row(tx, []any{&at.cursor, &at.version, &at.passed}, query, last)
	if err == nil && !found {
		err = errors.New("the fan-out cursor is missing")
	}
	return at, err
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

// readAfter reads the first events after the cursor.
func readAfter(tx sqlite.Reader) (events []newEvent, err error) {
	const query = "SELECT `id`, `tenant`, `type`, `contact`, `created`, rowid FROM `events` " +
		"WHERE rowid > " + cursorRow + " ORDER BY rowid LIMIT ?1"
	err = sqlite.Each(tx, query, func(rows *sql.Rows) error {
		var e newEvent
		err := rows.Scan(&e.id, &e.tenant, &e.kind, &e.contact, &e.created, &e.row)
		events = append(events, e)
		return err
	}, maxEvents)
	return events, err
}

// withoutDelivery returns those of the webhooks to which the event has no delivery. They are what an earlier write has
// left of it.
func withoutDelivery(tx sqlite.Reader, eventID string, webhooks []string) ([]string, error) {
	written, err := sqlite.Values[string](tx, "SELECT `webhook` FROM `deliveries` WHERE `event` = ?1", eventID)
	have := make(map[string]bool, len(written))
	for _, id := range written {
		have[id] = true
	}
	return slices.DeleteFunc(webhooks, func(id string) bool { return have[id] }), err
}
