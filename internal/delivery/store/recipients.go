package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/pocketbase/dbx"

	"contactbase/internal/sqlite"
	"contactbase/internal/webhook/filter"
)

// recipients decides who receives events, as one transaction sees them.
type recipients struct {
	tx      sqlite.Reader
	store   *Store
	version int64            // of the webhooks and tenants
	since   map[string]int64 // webhooks that get only events after a row
	steps   int              // of filters, so far
}

// recipients returns who receives events. A webhook that was made or enabled while events of its tenant waited gets
// those after the newest of them.
func (s *Store) recipients(tx sqlite.Reader, version int64) (*recipients, error) {
	r := &recipients{tx: tx, store: s, version: version, since: map[string]int64{}}
	const query = "SELECT s.`webhook`, f.rowid FROM `_fanOutSince` s CROSS JOIN `events` f ON f.`id` = s.`event`"
	err := sqlite.Each(tx, query, func(rows *sql.Rows) error {
		var webhook string
		var row int64
		err := rows.Scan(&webhook, &row)
		r.since[webhook] = row
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading which webhooks are new: %w", err)
	}
	return r, nil
}

// of returns the webhooks that receive the event.
func (r *recipients) of(e newEvent) (webhooks []string, err error) {
	a, err := r.store.directory.audience(r.tx, e.tenant, r.version)
	if err != nil {
		return nil, err
	}
	var parsed *filter.Event
	read, steps := false, 0
	for _, sub := range a.subscribers {
		if sub.closed || !sub.wants(e.kind) || r.since[sub.id] >= e.row {
			continue
		}
		if sub.filter != nil && !read {
			if parsed, err = readEvent(r.tx, e.id); err != nil {
				return nil, err
			}
			read = true
		}
		if sub.passes(parsed, &steps) {
			webhooks = append(webhooks, sub.id)
		}
	}
	if r.steps += steps; steps > filter.MaxSteps && r.store.directory.warns(e.tenant, time.Now()) {
		r.store.app.Logger().Warn("a tenant's filters take too many steps for an event: "+
			"webhooks whose filters are not evaluated receive it", "tenant", e.tenant, "event", e.id, "steps", filter.MaxSteps)
	}
	return webhooks, nil
}

// snapshot calls do with a transaction on the reading pool.
func (s *Store) snapshot(do func(tx sqlite.Reader) error) error {
	db, open := s.app.ConcurrentDB().(*dbx.DB)
	if !open || db == nil {
		return errClosed
	}
	// with another context, the driver needs a goroutine for each query
	tx, err := db.DB().BeginTx(context.Background(), nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // it has only read
	return do(tx)
}

// readEvent reads what filters see of an event, nil if it cannot be parsed.
func readEvent(tx sqlite.Reader, id string) (*filter.Event, error) {
	payload, err := sqlite.Value[string](tx, "SELECT coalesce(`payload`, '') FROM `events` WHERE `id` = ?1", id)
	if err != nil {
		return nil, fmt.Errorf("reading the payload of an event: %w", err)
	}
	return parsed([]byte(payload)), nil
}

// parsed returns what filters see of an event, nil if it cannot be parsed.
func parsed(payload []byte) *filter.Event {
	event, err := filter.Parse(payload)
	if err != nil {
		return nil
	}
	return event
}
