package imports

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact"
	"contactbase/internal/contact/sheet"
	"contactbase/internal/sqlite"
	"contactbase/internal/stamp"
	"contactbase/internal/wire"
)

// errMoved means that another process or goroutine works on the import, or that it was started again or cancelled.
var errMoved = errors.New("the import has moved on")

// page has rows that are stored together, from one of them on.
type page struct {
	first   int // the index of the first row that is stored with them
	from    int // the index of the first row of the page
	items   []contact.Item
	cells   [][]string
	numbers []int // of the rows, as a spreadsheet shows them
}

// readPage reads the stored page from a row on, and parses its rows. It returns nil if no rows are left.
func (i *Import) readPage(app core.App, from int) (*page, error) {
	p, encoded, numbers := &page{from: from}, "", ""
	err := sqlite.Each(sqlite.Direct(app.ConcurrentDB()),
		"SELECT `first`, `rows`, `numbers` FROM `_importRows` WHERE `import` = ? AND `first` <= ? ORDER BY `first` DESC LIMIT 1",
		func(rows *sql.Rows) error { return rows.Scan(&p.first, &encoded, &numbers) }, i.ID, from)
	if err != nil {
		return nil, fmt.Errorf("reading the rows of the import %s: %w", i.ID, err)
	}
	if encoded == "" {
		return nil, nil
	}
	if err := errors.Join(json.Unmarshal([]byte(encoded), &p.cells), json.Unmarshal([]byte(numbers), &p.numbers)); err != nil {
		return nil, fmt.Errorf("reading the rows of the import %s: %w", i.ID, err)
	}
	if from-p.first >= len(p.cells) {
		return nil, nil
	}
	p.cells, p.numbers = p.cells[from-p.first:], p.numbers[from-p.first:]
	parser, err := i.Mapping.Parser(app, i.Match)
	if err != nil {
		return nil, err
	}
	for n, cells := range p.cells {
		p.cells[n] = sheet.Pad(cells, len(i.Columns))
		item, err := parser.Item(p.cells[n])
		if err != nil {
			return nil, err
		}
		p.items = append(p.items, item)
	}
	return p, nil
}

// apply applies the next page, in as many chunks as it takes, and advances the position. If no rows are left, the import is done.
func (i *Import) apply(app core.App, chunks *sqlite.Chunks) error {
	p, err := i.readPage(app, i.Position)
	if err != nil {
		return err
	}
	if p == nil {
		return i.end(app)
	}
	for begun := 0; begun < len(p.items); {
		taken := 0
		_, err := chunks.NextFor(i.Tenant, app, func(tx core.App, limit int) (int, error) {
			taken = min(limit, len(p.items)-begun)
			return taken, i.applyChunk(tx, p, begun, taken)
		})
		if err != nil {
			return err
		}
		begun += taken
		i.Position += taken
	}
	return nil
}

// applyChunk applies some rows of a page in the transaction of tx. It advances the position first, which only one of the processes that work
// on the import can do.
func (i *Import) applyChunk(tx core.App, p *page, begun, taken int) error {
	moved, err := sqlite.Run(tx, []sqlite.Statement{{
		Text: "UPDATE `_imports` SET `position` = `position` + ?1, `updated` = ?2 WHERE `id` = ?3 AND `status` = 'running' AND `position` = ?4 " +
			"AND EXISTS (SELECT 1 FROM `tenants` WHERE `id` = `tenant`)",
		Args: []any{taken, stamp.Stored(time.Now()), i.ID, p.from + begun},
	}})
	if err != nil {
		return err
	}
	if moved[0] == 0 {
		return errMoved
	}
	results, err := contact.Write(tx, i.Tenant, p.items[begun:begun+taken])
	if err != nil {
		return fmt.Errorf("applying rows of the import %s: %w", i.ID, err)
	}
	written := i.outcome(p, begun, results)
	statements := []sqlite.Statement{{
		Text: "UPDATE `_imports` SET `rowsCreated` = `rowsCreated` + ?, `rowsUpdated` = `rowsUpdated` + ?, `rowsUnchanged` = `rowsUnchanged` + ?, " +
			"`rowsRefused` = `rowsRefused` + ? WHERE `id` = ?",
		Args: []any{written.RowsCreated, written.RowsUpdated, written.RowsUnchanged, written.RowsRefused, i.ID},
	}}
	if begun+taken == len(p.items) {
		statements = append(statements, sqlite.Statement{Text: "DELETE FROM `_importRows` WHERE `import` = ? AND `first` = ?", Args: []any{i.ID, p.first}})
	}
	inserts, err := i.refusalInserts(written.refused)
	if err != nil {
		return err
	}
	_, err = sqlite.Run(tx, append(statements, inserts...))
	return err
}

// outcome is the result of some rows.
type outcome struct {
	Counts
	refused []Refusal
}

// outcome returns the outcome of some rows of a page.
func (i *Import) outcome(p *page, begun int, results []contact.Result) (o outcome) {
	for n, result := range results {
		o.add(result.Status)
		if result.Wrong != nil {
			o.refused = append(o.refused, i.refusal(p, begun+n, result.Wrong))
		}
	}
	return o
}

// refusalInserts returns the statements that store refusals.
func (i *Import) refusalInserts(refused []Refusal) ([]sqlite.Statement, error) {
	statements := make([]sqlite.Statement, 0, len(refused))
	for _, refusal := range refused {
		cells, err := wire.AppendJSON(nil, sheet.Trim(refusal.cells))
		if err != nil {
			return nil, err
		}
		fields, err := json.Marshal(refusal.Fields)
		if err != nil {
			return nil, err
		}
		statements = append(statements, sqlite.Statement{
			Text: "INSERT OR REPLACE INTO `_importRefusals` (`import`, `row`, `tenant`, `cells`, `reason`, `fields`) VALUES (?, ?, ?, ?, ?, ?)",
			Args: []any{i.ID, refusal.Row, i.Tenant, string(cells), refusal.Reason, string(fields)},
		})
	}
	return statements, nil
}

// end marks the import as done.
func (i *Import) end(app core.App) error {
	_, err := sqlite.Write(app, func(sqlite.Reader) ([]sqlite.Statement, error) {
		return []sqlite.Statement{{
			Text: "UPDATE `_imports` SET `status` = 'done', `samples` = '[]', `updated` = ? WHERE `id` = ? AND `status` = 'running' AND `position` = ?",
			Args: []any{stamp.Stored(time.Now()), i.ID, i.Position},
		}}, nil
	})
	return err
}

func (c *Counts) addAll(other Counts) {
	c.RowsCreated += other.RowsCreated
	c.RowsUpdated += other.RowsUpdated
	c.RowsUnchanged += other.RowsUnchanged
	c.RowsRefused += other.RowsRefused
}

// add counts the result of a row.
func (c *Counts) add(status contact.Status) {
	switch status {
	case contact.Created:
		c.RowsCreated++
	case contact.Updated:
		c.RowsUpdated++
	case contact.Unchanged:
		c.RowsUnchanged++
	default:
		c.RowsRefused++
	}
}
