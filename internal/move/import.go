package move

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact"
	"contactbase/internal/sqlite"
	"contactbase/internal/stamp"
	"contactbase/internal/tenant"
)

// errElsewhere means that another process continues or has ended the import.
var errElsewhere = errors.New("another import of this tenant is running, or the tenant was deleted")

// Target describes where and how to import a tenant.
type Target struct {
	App        core.App
	Bounds     tenant.Bounds // on the records of the tenant
	Passphrase string
	Room       int64 // bytes that the archive's database may take in the data directory
	Resume     bool  // continue an interrupted import, if any
	Frozen     bool  // leave the tenant frozen
	// believe the archive which webhooks of a tenant with members are the operator's; otherwise all
	// become the members'
	Trusted  bool
	Progress Progress
}

// checkpoint is a checkpoint of an import: the next table, and how many of its rows have been written.
type checkpoint struct{ step, row int }

// Import checks the whole archive, then writes its rows in short transactions. The tenant is not served until the
// import is complete. Each transaction also commits the checkpoint, from which an interrupted import continues.
func (g *Target) Import(ctx context.Context, archive io.Reader) (summary *Summary, err error) {
	work, err := newWorkspace(g.App.DataDir())
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, work.remove()) }()
	file, err := os.OpenFile(work.database(), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	checksum, err := unseal(ctx, file, archive, g.Passphrase, g.Room)
	if err == nil {
		err = checkFirstPage(file)
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return nil, err
	}
	db, err := open(ctx, g.App, work.database(), readOnly)
	if err != nil {
		return nil, fmt.Errorf("the archive is rejected: %w", err)
	}
	defer func() { err = errors.Join(err, db.close()) }()
	held, err := db.inspect()
	if err = db.explain(err); err != nil {
		return nil, fmt.Errorf("the archive is rejected: %w", err)
	}
	i := &importing{Target: g, ctx: ctx, db: db, held: held, checksum: checksum}
	if err := i.run(); err != nil {
		return nil, err
	}
	return summarize(held, checksum), nil
}

// importing is a running import.
type importing struct {
	*Target
	ctx         context.Context // nolint:containedctx // it lives for one call of Import
	db          *database
	held        *contents
	checksum    string
	chunks      sqlite.Chunks
	done, total int
}

func (i *importing) run() error {
	at, found, err := i.begun()
	if err != nil {
		return err
	}
	if found && !i.Resume {
		return errors.New("an import of this tenant was interrupted: continue it with --resume, or delete the tenant")
	}
	if !found {
		if err := checkFree(i.App, i.held.tenant); err != nil {
			return err
		}
		if err := i.Bounds.CheckArchived(i.db, i.held.tenant, time.Now()); err != nil {
			return fmt.Errorf("the archive is rejected: %w", err)
		}
	}
	if err := i.db.explain(i.db.checkHere(i.held, at)); err != nil {
		return fmt.Errorf("the archive is rejected: %w", err)
	}
	if !found {
		if err := i.begin(); err != nil {
			return fmt.Errorf("starting the import: %w", err)
		}
		at = checkpoint{step: 1}
	}
	for step, t := range tables {
		i.total += i.held.rows[t]
		if step < at.step {
			i.done += i.held.rows[t]
		}
	}
	for ; at.step < len(tables); at = (checkpoint{step: at.step + 1}) {
		if err := i.table(at); err != nil {
			return fmt.Errorf("importing %s: %w", tables[at.step].name, err)
		}
	}
	return i.end()
}

// begun returns the checkpoint of an interrupted import. The error reports one of another archive.
func (i *importing) begun() (at checkpoint, found bool, err error) {
	archive := ""
	err = sqlite.Each(sqlite.Direct(i.App.ConcurrentDB()),
		"SELECT `archive`, `step`, `row` FROM `_moves` WHERE `tenant` = ? AND `state` = 'arriving'",
		func(rows *sql.Rows) error {
			found = true
			return rows.Scan(&archive, &at.step, &at.row)
		}, i.held.tenant)
	if err == nil && found && archive != i.checksum {
		err = errors.New("an import of this tenant from another archive was interrupted: " +
			"continue it with that archive and --resume, or delete the tenant")
	}
	return at, found, err
}

// checkFree returns an error if the tenant already exists or is still being deleted.
func checkFree(app core.App, tenantID string) error {
	const leavingSQL = "SELECT EXISTS (SELECT 1 FROM `_deletions` WHERE `collection` = 'tenants' AND `record` = ?1) OR " +
		"EXISTS (SELECT 1 FROM `contacts` WHERE `tenant` = ?1) OR EXISTS (SELECT 1 FROM `events` WHERE `tenant` = ?1)"
	tx := sqlite.Direct(app.ConcurrentDB())
	there, err := sqlite.Value[bool](tx, "SELECT EXISTS (SELECT 1 FROM `tenants` WHERE `id` = ?1)", tenantID)
	if err != nil {
		return err
	}
	leaving, err := sqlite.Value[bool](tx, leavingSQL, tenantID)
	switch {
	case err != nil:
		return err
	case there:
		return fmt.Errorf("the tenant %s already exists in this installation: "+
			"delete it first, or import the archive elsewhere", tenantID)
	case leaving:
		return fmt.Errorf("the tenant %s was deleted here, "+
			"and its data is still being removed: let the server run, and try again", tenantID)
	}
	return nil
}

// begin writes the tenant, closed.
func (i *importing) begin() error {
	t := tables[0]
	rows, err := i.page(t, 0)
	if err != nil {
		return err
	}
	return i.App.RunInTransaction(func(tx core.App) error {
		_, err := sqlite.Run(tx, []sqlite.Statement{i.insertion(t, rows), {
			Text: "INSERT INTO `_moves` (`tenant`, `state`, `archive`, `step`, `created`) VALUES (?, ?, ?, 1, ?)",
			Args: []any{i.held.tenant, string(tenant.Arriving), i.checksum, stamp.Stored(time.Now())},
		}})
		if err != nil {
			return err
		}
		return tenant.Guard(tx)
	})
}

// end opens the tenant when the import is complete.
func (i *importing) end() error {
	text := "DELETE FROM `_moves` WHERE `tenant` = ? AND `archive` = ?"
	if i.Frozen {
		text = "UPDATE `_moves` SET `state` = 'frozen', `archive` = '' WHERE `tenant` = ? AND `archive` = ?"
	}
	return i.App.RunInTransaction(func(tx core.App) error {
		changed, err := sqlite.Exec(tx, text, i.held.tenant, i.checksum)
		if err == nil && changed == 0 {
			err = errElsewhere
		}
		if err != nil {
			return err
		}
		return tenant.Guard(tx)
	})
}

// table writes a table's rows from a checkpoint on. Reading does not block other writers.
func (i *importing) table(at checkpoint) error {
	i.done += at.row
	for {
		rows, err := i.page(tables[at.step], at.row)
		if err != nil || len(rows) == 0 {
			return err
		}
		if err := i.write(at, rows); err != nil {
			return err
		}
		at.row += len(rows)
	}
}

// stepRows is how many rows a step writes at most. A row may have a megabyte.
const stepRows = 16

// write writes rows in as many steps as needed.
func (i *importing) write(at checkpoint, rows [][]any) error {
	for len(rows) > 0 {
		if err := i.ctx.Err(); err != nil {
			return err
		}
		taken := 0
		_, err := i.chunks.NextTimed(i.held.tenant, i.App, func(tx core.App, limit int, due func() bool) (int, error) {
			for taken = 0; taken < min(limit, len(rows)) && !due(); {
				next := min(taken+stepRows, limit, len(rows))
				if err := i.step(tx, checkpoint{at.step, at.row + taken}, rows[taken:next]); err != nil {
					return 0, err
				}
				taken = next
			}
			return taken, nil
		})
		if err != nil {
			return err
		}
		rows = rows[taken:]
		at.row += taken
		i.done += taken
		i.Progress(i.done, i.total)
	}
	return nil
}

// The tenant is open to the import's own transactions only. A step advances the checkpoint, unless another process
// has; a table is done with its last row.
const (
	openSQL = "UPDATE `_moves` SET `open` = 1, `step` = :step, `row` = :next " +
		"WHERE `tenant` = :tenant AND `archive` = :archive " +
		"AND (`step` = :step AND `row` = :row OR `step` < :step AND :row = 0)"
	closeSQL = "UPDATE `_moves` SET `open` = 0 WHERE `tenant` = ?1"
)

// step writes rows in the transaction of tx. It advances the checkpoint first, which only one process can do.
func (i *importing) step(tx core.App, at checkpoint, rows [][]any) error {
	moved, err := sqlite.Exec(tx, openSQL, sqlite.Named(map[string]any{
		"tenant": i.held.tenant, "archive": i.checksum, "step": at.step, "row": at.row, "next": at.row + len(rows),
	})...)
	if err != nil {
		return err
	}
	if moved == 0 {
		return errElsewhere
	}
	t := tables[at.step]
	statements := []sqlite.Statement{i.insertion(t, rows)}
	if t.name == contact.CollectionName {
		statements = append(statements, contact.SearchRows(i.held.tenant, i.textsByColumn(t, rows)))
	}
	statements = append(statements, sqlite.Statement{Text: closeSQL, Args: []any{i.held.tenant}})
	_, err = sqlite.Run(tx, statements)
	return err
}
