package retention

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact"
	"contactbase/internal/delivery"
	"contactbase/internal/inbound"
	"contactbase/internal/relation"
	"contactbase/internal/sqlite"
	"contactbase/internal/tenant"
)

// deletion is a record that was deleted and still has belongings.
type deletion struct {
	collection string
	record     string
	detail     string
}

const (
	deletionsSQL = "SELECT `collection`, `record`, `detail` FROM `_deletions` ORDER BY `created`"
	endedSQL     = "DELETE FROM `_deletions` WHERE `collection` = ? AND `record` = ?"
)

// Sweep removes what belongs to everything that was deleted, in steps. ctx ends it between two of them; a later call
// goes on. What cannot be removed holds up nothing else.
func Sweep(ctx context.Context, app core.App, deliveries delivery.Participant) error {
	deletions, err := pending(app)
	if err != nil {
		return err
	}
	var failed error
	for _, d := range deletions {
		if ctx.Err() != nil {
			return errors.Join(failed, ctx.Err())
		}
		s := sweep{ctx, app, deliveries, d.record}
		switch d.collection {
		case tenant.CollectionName:
			err = s.tenant()
		case delivery.WebhooksCollection:
			err = s.webhook()
		case inbound.CollectionName:
			err = s.inbound()
		case contact.CollectionName:
			err = s.contact(strings.Fields(d.detail))
		}
		if err == nil {
			err = ended(app, d)
		}
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("removing what belonged to %s of %s: %w", d.record, d.collection, err))
		}
	}
	return failed
}

func ended(app core.App, d deletion) error {
	_, err := sqlite.Write(app, func(sqlite.Reader) ([]sqlite.Statement, error) {
		return []sqlite.Statement{{Text: endedSQL, Args: []any{d.collection, d.record}}}, nil
	})
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
		return nil, fmt.Errorf("reading what was deleted: %w", err)
	}
	return deletions, nil
}

// sweep removes what belongs to one record.
type sweep struct {
	ctx        context.Context //nolint:containedctx // it lives for one call of Sweep
	app        core.App
	deliveries delivery.Participant
	id         string
}

// tenant removes all that belonged to a tenant, and then what is left by writes that had begun before.
func (s sweep) tenant() error {
	for {
		left, err := sqlite.Value[bool](sqlite.ReaderOf(s.app), tenant.RemainsSQL(), s.id)
		if err != nil {
			return err
		}
		if !left {
			return s.app.RunInTransaction(tenant.Guard) // it may have been the last that moved
		}
		for _, table := range slices.Backward(tenant.Tables) {
			if err := s.rowsOfTenant(&table); err != nil {
				return err
			}
		}
		if err := s.detach(tenant.CollectionName, s.id); err != nil {
			return err
		}
	}
}

// belongings remove what belongs to a record of a tenant, where that is anything.
var belongings = map[string]func(sweep) error{delivery.WebhooksCollection: sweep.webhook, inbound.CollectionName: sweep.inbound}

func (s sweep) rowsOfTenant(table *tenant.Table) error {
	switch table.Deletion {
	case tenant.AsRecords:
		return s.owned(table.Name, belongings[table.Name])
	case tenant.AsRows:
		return s.steps(table.DeleteSQL())
	default:
		return nil
	}
}

// webhook removes the deliveries to a webhook.
func (s sweep) webhook() error {
	err := sqlite.InChunks(s.ctx, s.app, func(tx core.App, limit int) (int, error) {
		return s.deliveries.DeleteDeliveries(tx, s.id, limit)
	})
	if err != nil {
		return err
	}
	return s.detach(delivery.WebhooksCollection, s.id)
}

// inbound removes the requests of an inbound webhook.
func (s sweep) inbound() error {
	if err := s.steps(requestsSQL); err != nil {
		return err
	}
	return s.detach(inbound.CollectionName, s.id)
}

// contact erases what is stored about a contact, which inbound requests know as one of people.
func (s sweep) contact(people []string) error {
	if err := s.deliveries.FanOut(s.ctx, s.app); err != nil { // in chunks: the transactions below fan out only what came since
		return err
	}
	var last int64
	err := sqlite.InChunks(s.ctx, s.app, func(tx core.App, limit int) (found int, err error) {
		last, found, err = s.deliveries.EraseContact(tx, s.id, last, limit)
		return found, err
	})
	if err != nil {
		return err
	}
	return sqlite.InChunks(s.ctx, s.app, func(tx core.App, limit int) (int, error) { return inbound.Erase(tx, people, limit) })
}

// requestsSQL deletes up to ?2 requests of the inbound webhook ?1.
const requestsSQL = "DELETE FROM `inbound_requests` WHERE rowid IN (SELECT rowid FROM `inbound_requests` WHERE `inbound` = ? ORDER BY `created` LIMIT ?)"

// steps runs a statement that deletes a number of rows until none is left.
func (s sweep) steps(statement string) error {
	return sqlite.InChunks(s.ctx, s.app, func(tx core.App, limit int) (int, error) {
		deleted, err := sqlite.Run(tx, []sqlite.Statement{{Text: statement, Args: []any{s.id, limit}}})
		if err != nil {
			return 0, err
		}
		return int(deleted[0]), nil
	})
}

// detach frees the admin's records that have a relation to those that are gone.
func (s sweep) detach(collection string, ids ...string) error {
	target, err := s.app.FindCachedCollectionByNameOrId(collection)
	if err != nil {
		return err
	}
	return sqlite.InChunks(s.ctx, s.app, func(tx core.App, limit int) (int, error) { return relation.Detach(tx, target, ids, limit) })
}
