package retention

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact"
	"contactbase/internal/credential"
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

// tenant removes all that belonged to a tenant, and then whatever a write has left that had begun before.
func (s sweep) tenant() error {
	for {
		left, err := sqlite.Value[bool](sqlite.ReaderOf(s.app), leftSQL, s.id)
		if err != nil {
			return err
		}
		if !left {
			return s.app.RunInTransaction(tenant.Guard) // it may have been the last that moved
		}
		for _, remove := range []func() error{
			func() error { return s.owned(delivery.WebhooksCollection, sweep.webhook) },
			func() error { return s.owned(inbound.CollectionName, sweep.inbound) },
			func() error { return s.owned(credential.CollectionName, nil) },
			func() error { return s.owned(contact.CollectionName, nil) },
			func() error { return s.steps(eventsSQL) },
			func() error { return s.steps(answersSQL) },
			func() error { return s.steps(importsSQL) },
			func() error { return s.steps(importRowsSQL) },
			func() error { return s.steps(importRefusalsSQL) },
			func() error { return s.detach(tenant.CollectionName, s.id) },
		} {
			if err := remove(); err != nil {
				return err
			}
		}
	}
}

// leftSQL tells whether anything belongs to the tenant.
const leftSQL = "SELECT EXISTS (SELECT 1 FROM `contacts` WHERE `tenant` = ?1) OR EXISTS (SELECT 1 FROM `events` WHERE `tenant` = ?1) OR " +
	"EXISTS (SELECT 1 FROM `webhooks` WHERE `tenant` = ?1) OR EXISTS (SELECT 1 FROM `inbound_webhooks` WHERE `tenant` = ?1) OR " +
	"EXISTS (SELECT 1 FROM `api_keys` WHERE `tenant` = ?1) OR EXISTS (SELECT 1 FROM `_idempotency` WHERE `tenant` = ?1) OR " +
	"EXISTS (SELECT 1 FROM `_imports` WHERE `tenant` = ?1) OR EXISTS (SELECT 1 FROM `_importRows` WHERE `tenant` = ?1) OR " +
	"EXISTS (SELECT 1 FROM `_importRefusals` WHERE `tenant` = ?1)"

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

// The statements that delete up to ?2 rows that belong to the record ?1.
const (
	requestsSQL = "DELETE FROM `inbound_requests` WHERE rowid IN (SELECT rowid FROM `inbound_requests` WHERE `inbound` = ? ORDER BY `created` LIMIT ?)"
	eventsSQL   = "DELETE FROM `events` WHERE rowid IN (SELECT rowid FROM `events` WHERE `tenant` = ? ORDER BY `created` LIMIT ?)"
	answersSQL  = "DELETE FROM `_idempotency` WHERE `key` IN (SELECT `key` FROM `_idempotency` WHERE `tenant` = ? ORDER BY `created` LIMIT ?)"

	importsSQL        = "DELETE FROM `_imports` WHERE rowid IN (SELECT rowid FROM `_imports` WHERE `tenant` = ? LIMIT ?)"
	importRowsSQL     = "DELETE FROM `_importRows` WHERE rowid IN (SELECT rowid FROM `_importRows` WHERE `tenant` = ? LIMIT ?)"
	importRefusalsSQL = "DELETE FROM `_importRefusals` WHERE rowid IN (SELECT rowid FROM `_importRefusals` WHERE `tenant` = ? LIMIT ?)"
)

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
