package move

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact"
	"contactbase/internal/delivery"
	"contactbase/internal/sqlite"
	"contactbase/internal/stamp"
	"contactbase/internal/tenant"
)

// errElsewhere means that somebody else goes on with the import, or has ended it.
var errElsewhere = errors.New("another import of this tenant is under way, or it was deleted meanwhile")

// Target is where a tenant is imported.
type Target struct {
	App        core.App
	Deliveries delivery.Participant
	Archive    *Archive
	Resume     bool // go on with an import that was cut off, if there is one
	Frozen     bool // leave the tenant closed for writes
	Progress   Progress
}

// place is how far an import has come: which of the kinds is next, and how many of its rows are there.
type place struct{ step, row int }

// Import writes what is in the archive, in small steps. Until all of it is there the tenant is not served. The place is committed together
// with the rows, so that an import that was cut off goes on where it was.
func (g *Target) Import(ctx context.Context) error {
	from, found, err := g.begun()
	if err != nil {
		return err
	}
	if found && !g.Resume {
		return errors.New("an import of this tenant was cut off: go on with --resume, or delete the tenant")
	}
	if !found {
		if err := checkFree(g.App, g.Archive.Tenant); err != nil {
			return err
		}
	}
	if err := g.Archive.checkFields(g.App); err != nil {
		return err
	}
	if err := g.Archive.check(ctx, g.App, !found); err != nil {
		return err
	}
	if !found {
		if from, err = g.begin(); err != nil {
			return fmt.Errorf("beginning the import: %w", err)
		}
	}
	i := &importing{Target: g, ctx: ctx}
	for step := range from.step {
		i.done += g.Archive.Files[step].Rows
	}
	for ; from.step < len(kinds); from = (place{step: from.step + 1}) {
		if err := i.file(from); err != nil {
			return fmt.Errorf("importing %s: %w", kinds[from.step].table, err)
		}
	}
	return g.end()
}

// begun returns the place of an import that was cut off. The error tells of one of another archive.
func (g *Target) begun() (at place, found bool, err error) {
	archive := ""
	err = sqlite.Each(sqlite.Direct(g.App.ConcurrentDB()), "SELECT `archive`, `step`, `row` FROM `_moves` WHERE `tenant` = ? AND `state` = 'arriving'",
		func(rows *sql.Rows) error {
			found = true
			return rows.Scan(&archive, &at.step, &at.row)
		}, g.Archive.Tenant)
	if err == nil && found && archive != g.Archive.Checksum() {
		err = errors.New("the import that was cut off is of another archive: go on with that one, or delete the tenant")
	}
	return at, found, err
}

// begin writes the tenant itself, closed.
func (g *Target) begin() (place, error) {
	from, err := g.Archive.open(0)
	if err != nil {
		return place{}, err
	}
	defer from.close()
	line, err := from.next()
	if err != nil {
		return place{}, err
	}
	t := g.Archive.table(g.App, 0)
	values, err := t.values(line)
	if err != nil {
		return place{}, err
	}
	err = g.App.RunInTransaction(func(tx core.App) error {
		_, err := sqlite.Run(tx, []sqlite.Statement{{Text: t.insertion(), Args: values}, {
			Text: "INSERT INTO `_moves` (`tenant`, `state`, `archive`, `step`, `created`) VALUES (?, ?, ?, 1, ?)",
			Args: []any{g.Archive.Tenant, string(tenant.Arriving), g.Archive.Checksum(), stamp.Stored(time.Now())},
		}})
		if err != nil {
			return err
		}
		return tenant.Guard(tx)
	})
	return place{step: 1}, err
}

// end opens the tenant once all of it is there.
func (g *Target) end() error {
	for step, k := range kinds {
		if k.ageing {
			continue
		}
		count, err := k.count(g.App, g.Archive.Tenant)
		if err != nil {
			return err
		}
		if count != g.Archive.Files[step].Rows {
			return fmt.Errorf("%s has %d rows, and the archive %d: delete the tenant here, and import it anew", k.table, count, g.Archive.Files[step].Rows)
		}
	}
	last := sqlite.Statement{Text: "DELETE FROM `_moves` WHERE `tenant` = ? AND `archive` = ?", Args: []any{g.Archive.Tenant, g.Archive.Checksum()}}
	if g.Frozen {
		last.Text = "UPDATE `_moves` SET `state` = 'frozen', `archive` = '' WHERE `tenant` = ? AND `archive` = ?"
	}
	return g.App.RunInTransaction(func(tx core.App) error {
		changed, err := sqlite.Run(tx, []sqlite.Statement{last})
		if err == nil && changed[0] == 0 {
			err = errElsewhere
		}
		if err != nil {
			return err
		}
		return tenant.Guard(tx)
	})
}

// importing is an import that runs.
type importing struct {
	*Target
	ctx  context.Context //nolint:containedctx // it lives for one call of Import
	pace sqlite.Pace
	done int
}

// file writes the rows of a file from a place on.
func (i *importing) file(at place) error {
	from, err := i.Archive.open(at.step)
	if err != nil {
		return err
	}
	defer from.close()
	for range at.row {
		if _, err := from.next(); err != nil {
			return err
		}
	}
	i.done += at.row
	t := i.Archive.table(i.App, at.step)
	for {
		rows, err := read(from, t)
		if err != nil || len(rows) == 0 {
			return err
		}
		if err := i.write(t, at, rows); err != nil {
			return err
		}
		at.row += len(rows)
	}
}

// read reads the next rows, which nobody who writes waits for; none at the end.
func read(from *lines, t *table) (rows [][]any, err error) {
	for len(rows) < page {
		line, err := from.next()
		if errors.Is(err, io.EOF) {
			return rows, nil
		}
		if err != nil {
			return nil, err
		}
		values, err := t.values(line)
		if err != nil {
			return nil, err
		}
		rows = append(rows, values)
	}
	return rows, nil
}

// write writes rows, in as many steps as they take.
func (i *importing) write(t *table, at place, rows [][]any) error {
	for len(rows) > 0 {
		if err := i.ctx.Err(); err != nil {
			return err
		}
		taken := 0
		_, err := i.pace.Step(i.App, func(tx core.App, limit int) (int, error) {
			taken = min(limit, len(rows))
			return taken, i.step(tx, t, at, rows[:taken])
		})
		if err != nil {
			return err
		}
		rows = rows[taken:]
		at.row += taken
		i.done += taken
		i.Progress(i.done, i.Archive.total())
	}
	return nil
}

// The tenant is open for the import in its own transactions. A step moves the place, unless that is elsewhere; a kind is done with its last
// row, which is in the archive.
const (
	openSQL  = "UPDATE `_moves` SET `open` = 1, `step` = ?1, `row` = ?2 WHERE `tenant` = ?3 AND `archive` = ?4 AND (`step` = ?1 AND `row` = ?5 OR `step` < ?1 AND ?5 = 0)"
	closeSQL = "UPDATE `_moves` SET `open` = 0 WHERE `tenant` = ?1"
)

// step writes rows in the transaction of tx. It moves the place first, which only one of those who go on with the import can do.
func (i *importing) step(tx core.App, t *table, at place, rows [][]any) error {
	moved, err := sqlite.Run(tx, []sqlite.Statement{{
		Text: openSQL, Args: []any{at.step, at.row + len(rows), i.Archive.Tenant, i.Archive.Checksum(), at.row},
	}})
	if err != nil {
		return err
	}
	if moved[0] == 0 {
		return errElsewhere
	}
	if t.table == delivery.WebhooksCollection { // which get nothing of what happened elsewhere
		if err := i.Deliveries.PlaceAll(i.ctx, tx); err != nil {
			return err
		}
	}
	statements := []sqlite.Statement{sqlite.Repeat(t.insertion(), rows)}
	if t.table == contact.CollectionName {
		statements = append(statements, contact.SearchRows(i.Archive.Tenant, t.columns(rows)))
	}
	statements = append(statements, sqlite.Statement{Text: closeSQL, Args: []any{i.Archive.Tenant}})
	_, err = sqlite.Run(tx, statements)
	return err
}
