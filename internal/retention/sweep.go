package retention

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact"
	"contactbase/internal/contact/imports"
	"contactbase/internal/delivery/store"
	"contactbase/internal/inbound"
	"contactbase/internal/loop"
	"contactbase/internal/quota"
	"contactbase/internal/relation"
	"contactbase/internal/sqlite"
	"contactbase/internal/tenant"
	"contactbase/internal/webhook"
)

// deletion is a deleted record that may still have dependents.
type deletion struct {
	collection string
	record     string
	detail     string
}

const (
	deletionsSQL = "SELECT `collection`, `record`, `detail` FROM `_deletions` ORDER BY `created`"
	doneSQL      = "DELETE FROM `_deletions` WHERE `collection` = ? AND `record` IN (SELECT `value` FROM json_each(?))"
)

// contactsAtOnce is how many contacts are erased together.
const contactsAtOnce = 200

// Sweep deletes the dependents of all deleted records, in chunks. It stops between two chunks when ctx ends, and a
// later call continues. An error does not keep it from sweeping other records. Contacts with events that are yet to
// be fanned out are left to a later call.
func Sweep(ctx context.Context, app core.App, deliveries *store.Store) error {
	_, err := sweepAll(ctx, app, deliveries)
	return err
}

// The dependents of a large tenant take minutes, so that records have turns. A turn is over after firstTurn, apart from
// a chunk that has begun. Later ones take up to maxTurn, so that each gets somewhere on a busy machine, too.
const (
	firstTurn = time.Second
	maxTurn   = 4 * time.Second
)

// sweepAll is Sweep, and reports whether contacts are left.
func sweepAll(ctx context.Context, app core.App, deliveries *store.Store) (waiting bool, err error) {
	return sweepBy(ctx, app, deliveries, firstTurn)
}

// sweepBy is sweepAll with first turns of another length.
func sweepBy(ctx context.Context, app core.App, deliveries *store.Store, turn time.Duration) (waiting bool, err error) {
	for over := false; !over && ctx.Err() == nil; turn = min(2*turn, maxTurn) {
		var deletions []deletion
		if deletions, err = pending(app); err != nil {
			return false, err
		}
		if waiting, err = eraseContacts(ctx, app, deliveries, deletions); ctx.Err() == nil {
			var failed error
			over, failed = sweepInTurns(ctx, app, deliveries, deletions, turn)
			err = errors.Join(err, failed)
		}
	}
	return waiting, errors.Join(err, quota.TrimAll(ctx, app), ctx.Err())
}

// sweepInTurns gives each record but contacts a turn, and reports whether nothing is left to do for them but what
// failed.
func sweepInTurns(
	ctx context.Context, app core.App, deliveries *store.Store, deletions []deletion, turn time.Duration,
) (over bool, failed error) {
	over = true
	for _, d := range deletions {
		if d.collection == contact.CollectionName || ctx.Err() != nil {
			continue
		}
		inTurn, cancel := context.WithTimeout(ctx, turn)
		err := sweep{inTurn, app, deliveries, d.record}.record(d.collection)
		cancel()
		if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
			over = false
		} else if err != nil {
			failed = errors.Join(failed,
				fmt.Errorf("deleting the dependents of the record %s of %s: %w", d.record, d.collection, err))
		}
	}
	return over, failed
}

// record deletes the dependents of a record, and then the note of its deletion.
func (s sweep) record(collection string) (err error) {
	switch collection {
	case tenant.CollectionName:
		err = s.tenant()
	case webhook.CollectionName:
		err = s.webhook()
	case inbound.CollectionName:
		err = s.inbound()
	}
	if err != nil {
		return err
	}
	return done(s.app, collection, s.id)
}

// eraseContacts erases the contacts among the deleted records, and reports whether some are left because events of
// theirs are yet to be fanned out.
func eraseContacts(
	ctx context.Context, app core.App, deliveries *store.Store, deletions []deletion,
) (waiting bool, failed error) {
	contacts := slices.DeleteFunc(slices.Clone(deletions), func(d deletion) bool {
		return d.collection != contact.CollectionName
	})
	for some := range slices.Chunk(contacts, contactsAtOnce) {
		if ctx.Err() != nil {
			break
		}
		erased, err := sweep{ctx: ctx, app: app, deliveries: deliveries}.contacts(some)
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("erasing %d contacts: %w", len(some), err))
		}
		waiting = waiting || erased < len(some)
	}
	return waiting, failed
}

func done(app core.App, collection string, records ...string) error {
	_, err := sqlite.Exec(app, doneSQL, collection, sqlite.List(records))
	return err
}

func pending(app core.App) (deletions []deletion, err error) {
	err = sqlite.Each(sqlite.Direct(app.ConcurrentDB()), deletionsSQL, func(rows *sql.Rows) error {
		var d deletion
		err := rows.Scan(&d.collection, &d.record, &d.detail)
		deletions = append(deletions, d)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading the deleted records: %w", err)
	}
	return deletions, nil
}

// sweep deletes the dependents of one record.
type sweep struct {
	ctx        context.Context //nolint:containedctx // the struct lives for one call of Sweep
	app        core.App
	deliveries *store.Store
	id         string
}

// tenant deletes everything of a tenant, until no row of it is left.
func (s sweep) tenant() error {
	for {
		for _, table := range slices.Backward(tenant.Tables) {
			if err := s.rowsOfTenant(&table); err != nil {
				return err
			}
		}
		if err := s.detach(tenant.CollectionName, s.id); err != nil {
			return err
		}
		left := false
		err := s.app.RunInTransaction(func(tx core.App) (err error) {
			left, err = sqlite.Value[bool](sqlite.ReaderOf(tx), tenant.RemainsSQL(), s.id)
			if err != nil || left {
				return err
			}
			return tenant.Guard(tx) // contacts may need no more guards
		})
		if err != nil || !left {
			return err
		}
	}
}

// dependents has functions that delete the dependents of a tenant's record, by its collection.
var dependents = map[string]func(sweep) error{
	webhook.CollectionName: sweep.webhook, inbound.CollectionName: sweep.inbound,
}

func (s sweep) rowsOfTenant(table *tenant.Table) error {
	switch table.Deletion {
	case tenant.AsRecords:
		return s.owned(table.Name, dependents[table.Name])
	case tenant.AsRows, tenant.ByTrigger: // of the latter, what triggers or earlier versions have added since
		some, err := sqlite.Value[bool](sqlite.Direct(s.app.ConcurrentDB()), "SELECT "+table.RemainsSQL(), s.id)
		if err != nil || !some {
			return err
		}
		return sqlite.DeleteInChunks(s.ctx, s.app, table.DeleteSQL(), s.id)
	default:
		return nil
	}
}

// webhook deletes the deliveries to a webhook.
func (s sweep) webhook() error {
	err := sqlite.InChunks(s.ctx, s.app, func(tx core.App, limit int) (int, error) {
		return store.DeleteDeliveries(tx, s.id, limit)
	})
	if err != nil {
		return err
	}
	return s.detach(webhook.CollectionName, s.id)
}

// inbound deletes the requests of an inbound webhook.
func (s sweep) inbound() error {
	if err := sqlite.DeleteInChunks(s.ctx, s.app, requestsSQL, s.id); err != nil {
		return err
	}
	return s.detach(inbound.CollectionName, s.id)
}

// contacts erases the stored data about those of the contacts whose events are fanned out, and returns how many these
// are. In inbound requests, the details are their identifiers.
func (s sweep) contacts(deleted []deletion) (erased int, err error) {
	all := make([]string, len(deleted))
	for i, d := range deleted {
		all[i] = d.record
	}
	whole, err := s.deliveries.FullyFannedOut(all)
	if err != nil || len(whole) == 0 {
		return 0, err
	}
	var ids, people []string
	for _, i := range whole {
		ids, people = append(ids, all[i]), append(people, strings.Fields(deleted[i].detail)...)
	}
	if err := s.deliveries.EraseContacts(s.ctx, ids); err != nil {
		return 0, err
	}
	err = errors.Join(
		inbound.Erase(s.ctx, s.app, people),
		sqlite.InChunks(s.ctx, s.app, func(tx core.App, limit int) (int, error) { return imports.Erase(tx, ids, limit) }),
	)
	if err != nil {
		return 0, err
	}
	return len(ids), done(s.app, contact.CollectionName, ids...)
}

// requestsSQL deletes up to ?2 requests of the inbound webhook ?1.
const requestsSQL = "DELETE FROM `inbound_requests` " +
	"WHERE rowid IN (SELECT rowid FROM `inbound_requests` WHERE `inbound` = ? ORDER BY `created` LIMIT ?)"

// detach removes deleted records from the relations of admins.
func (s sweep) detach(collection string, ids ...string) error {
	target, err := s.app.FindCachedCollectionByNameOrId(collection)
	if err != nil {
		return err
	}
	_, err = relation.Detach(s.ctx, s.app, target, ids)
	return err
}

// sweepInterval is how often the sweeper looks for deletions of other processes.
const sweepInterval = 10 * time.Second

// fanOutPause is how long the sweeper waits for the fan-out of a contact's last events.
const fanOutPause = time.Second

// NewSweeper returns the sweeper, the loop that calls Sweep in the background. The caller wakes it after each deletion.
func NewSweeper(app core.App, deliveries *store.Store) *loop.Loop {
	return loop.New(sweepInterval, func(ctx context.Context) {
		for waiting := true; waiting; {
			var err error
			if waiting, err = sweepAll(ctx, app, deliveries); err != nil && ctx.Err() == nil {
				app.Logger().Error("cannot delete the dependents of deleted records, retrying", "error", err)
			}
			waiting = waiting && loop.Pause(ctx, fanOutPause)
		}
	})
}
