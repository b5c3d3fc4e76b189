package contact

import (
	"errors"
	"fmt"
	"slices"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/fault"
	"contactbase/internal/sqlite"
)

// transaction is what contacts are written in.
type transaction struct {
	db  sqlite.Tx
	app core.App // deletes records; nil in a write function, whose plan deletes none
}

func inApp(tx core.App) transaction { return transaction{sqlite.TxOf(tx), tx} }

// execute writes the changes of a plan in their order: rows, search rows and events, and deletions. It returns
// how many it has written. These are all, unless refused is not nil: it is why the database or a relation
// refuses the next one.
func execute(tx transaction, p *plan) (written int, refused *fault.Error, err error) {
	for written < len(p.changes) && refused == nil && err == nil {
		rest := p.changes[written:]
		done := 0
		switch next := slices.IndexFunc(rest, func(c *change) bool { return c.after == nil }); {
		case next == 0:
			done, refused, err = p.remove(tx.app, rest[0])
		case next > 0:
			done, refused, err = p.save(tx.db, rest[:next])
		default:
			done, refused, err = p.save(tx.db, rest)
		}
		written += done
	}
	return written, refused, err
}

// save writes changes of contacts that remain, with their search rows and events. SQLite undoes only the
// row that it refuses: the contacts before it are saved.
func (p *plan) save(tx sqlite.Tx, changes []*change) (saved int, refused *fault.Error, err error) {
	rows, err := p.rows(changes)
	if err != nil {
		return 0, nil, err
	}
	effects, err := effectStatements(p.tenantID, p.source, changes)
	if err != nil {
		return 0, nil, err
	}
	_, err = tx.Run(append(rows.statements(), effects...))
	if err == nil {
		return len(changes), nil, nil
	}
	if saved, refused = p.refusal(rows, err); refused == nil {
		return 0, nil, fmt.Errorf("writing %d contacts: %w", len(changes), err)
	}
	return saved, refused, writeEffects(tx, p.tenantID, p.source, changes[:saved])
}

// refusal returns which change a unique index has refused, and the error of its item, nil if the error is another one.
func (p *plan) refusal(rows runs, err error) (change int, refused *fault.Error) {
	var failed *sqlite.StatementError
	var faults fault.Fields
	if !errors.As(err, &failed) || failed.Statement >= len(rows) || !errors.As(p.refused(err), &faults) {
		return 0, nil
	}
	return rows.before(failed.Statement, failed.Done), fault.InvalidContact(faults)
}

// remove deletes a contact through its record, for PocketBase's cascade and hooks. A relation of an
// admin's may forbid it.
func (p *plan) remove(tx core.App, c *change) (removed int, refused *fault.Error, err error) {
	err = sqlite.Savepoint(tx, func() error { return deleteRecord(tx, p.tenantID, c.before.ID, c.mergedInto) })
	if errors.As(err, &refused) && refused.Code == fault.InUse {
		return 0, refused, nil
	}
	return 1, nil, err
}
