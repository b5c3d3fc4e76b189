package imports

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/audit"
	"contactbase/internal/contact"
	"contactbase/internal/contact/sheet"
	"contactbase/internal/fault"
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
	numbers []int                   // of the rows, as a spreadsheet shows them
	read    map[int]remark          // by the index of the row: what the reader of the file has found
	notes   map[int][]sheet.Warning // by the index in the page
}

// remark is what the reader of a file says about a row.
type remark struct {
	Refused string `json:"refused,omitempty"`
	Skipped string `json:"skipped,omitempty"`
	Warning string `json:"warning,omitempty"`
}

// readPage reads the stored page from a row on, and parses its rows. It returns nil if no rows are left.
func (i *Import) readPage(app core.App, from int) (*page, error) {
	p, encoded, numbers, remarks := &page{from: from, notes: map[int][]sheet.Warning{}}, "", "", ""
	err := sqlite.Each(sqlite.Direct(app.ConcurrentDB()),
		"SELECT `first`, `rows`, `numbers`, `remarks` FROM `_importRows` "+
			"WHERE `import` = ? AND `first` <= ? ORDER BY `first` DESC LIMIT 1",
		func(rows *sql.Rows) error { return rows.Scan(&p.first, &encoded, &numbers, &remarks) }, i.ID, from)
	if err != nil {
		return nil, fmt.Errorf("reading the rows of the import %s: %w", i.ID, err)
	}
	if encoded == "" {
		return nil, nil
	}
	if err := errors.Join(
		json.Unmarshal([]byte(encoded), &p.cells),
		json.Unmarshal([]byte(numbers), &p.numbers), json.Unmarshal([]byte(remarks), &p.read),
	); err != nil {
		return nil, fmt.Errorf("reading the rows of the import %s: %w", i.ID, err)
	}
	if from-p.first >= len(p.cells) {
		return nil, nil
	}
	p.cells, p.numbers = p.cells[from-p.first:], p.numbers[from-p.first:]
	return p, p.parse(app, i)
}

// parse makes items of the rows.
func (p *page) parse(app core.App, i *Import) error {
	parser, err := i.Parser(app, i.Columns, i.styles)
	if err != nil {
		return err
	}
	for n, cells := range p.cells {
		p.cells[n] = sheet.Pad(cells, len(i.Columns))
		item, warnings, err := parser.Item(p.cells[n])
		if err != nil {
			return err
		}
		found := p.read[p.from-p.first+n]
		if reason := cmp.Or(found.Refused, found.Skipped); reason != "" {
			item.Wrong = fault.New(fault.ValidationFailed, reason)
		}
		if found.Warning != "" {
			warnings = append(warnings, sheet.Warning{Kind: sheet.LeftOut, Text: found.Warning})
		}
		p.items, p.notes[n] = append(p.items, item), append(warnings, i.belowNoHeading(p.cells[n])...)
	}
	return nil
}

// belowNoHeading returns a warning if the row has values below an empty heading.
func (i *Import) belowNoHeading(cells []string) []sheet.Warning {
	for at, column := range i.Columns {
		if column == "" && i.Mapping[at] == "" && strings.TrimSpace(cells[at]) != "" {
			return []sheet.Warning{{Kind: sheet.LeftOut, Text: fmt.Sprintf("%s, below an empty heading, is left out",
				strconv.Quote(sheet.Cut(cells[at], longestValue)))}}
		}
	}
	return nil
}

// apply applies the next page, in as many chunks as it takes, and advances the position. It stops after a chunk if ctx
// ends. If no rows are left, the import is done.
func (i *Import) apply(ctx context.Context, app core.App, chunks *sqlite.Chunks) error {
	p, err := i.readPage(app, i.Position)
	if err != nil {
		return err
	}
	if p == nil {
		return i.end(app)
	}
	// not before the first chunk: on a busy machine, a turn may be over when the page is read
	for begun := 0; begun < len(p.items) && (begun == 0 || ctx.Err() == nil); {
		taken := 0
		_, err := chunks.NextTimed(i.Tenant, app, func(tx core.App, limit int, due func() bool) (_ int, err error) {
			taken, err = i.applyChunk(tx, p, begun, min(limit, len(p.items)-begun), due)
			return taken, err
		})
		if err != nil {
			return err
		}
		begun += taken
		i.Position += taken
	}
	return nil
}

// applyChunk applies up to limit rows of a page in the transaction of tx, and returns how many. It ends with the row
// after which due reports true. Only one of the processes that work on the import finds it at the position.
func (i *Import) applyChunk(tx core.App, p *page, begun, limit int, due func() bool) (taken int, err error) {
	const isCurrent = "SELECT EXISTS (SELECT 1 FROM `_imports` " +
		"WHERE `id` = ? AND `status` = 'running' AND `position` = ? " +
		"AND " + isEnabled + ")"
	current, err := sqlite.Value[bool](sqlite.ReaderOf(tx), isCurrent, i.ID, p.from+begun)
	if err != nil {
		return 0, err
	}
	if !current {
		return 0, errMoved
	}
	acting := audit.As(tx, audit.Actor{Kind: audit.Import, ID: i.ID})
	results, err := contact.WriteUntil(acting, i.Tenant, p.items[begun:begun+limit], due)
	if err != nil {
		return 0, fmt.Errorf("applying rows of the import %s: %w", i.ID, err)
	}
	taken = len(results)
	written, err := i.outcome(p, begun, results, i.repeats(tx))
	if err != nil {
		return 0, err
	}
	statements := []sqlite.Statement{{
		Text: "UPDATE `_imports` SET `position` = `position` + ?, `updated` = ?, `rowsCreated` = " +
			"`rowsCreated` + ?, `rowsUpdated` = `rowsUpdated` + ?, `rowsUnchanged` = `rowsUnchanged` + ?, " +
			"`rowsRefused` = `rowsRefused` + ?, `rowsSkipped` = `rowsSkipped` + ?, " +
			"`rowsRepeated` = `rowsRepeated` + ?, `warnings` = `warnings` + ? WHERE `id` = ?",
		Args: append(append([]any{taken, stamp.Stored(time.Now())}, written.args()...), i.ID),
	}}
	if begun+taken == len(p.items) {
		statements = append(statements, sqlite.Statement{
			Text: "DELETE FROM `_importRows` WHERE `import` = ? AND `first` = ?", Args: []any{i.ID, p.first},
		})
	}
	inserts, err := i.inserts(written)
	if err != nil {
		return 0, err
	}
	statements = append(statements, i.createdStatements(results)...)
	_, err = sqlite.Run(tx, append(statements, inserts...))
	return taken, err
}

// outcome is the result of some rows.
type outcome struct {
	Counts
	refused  []Refusal
	notes    []note
	problems []problem
}

// outcome returns the outcome of some rows of a page. repeats returns the earlier rows that have changed contacts,
// and keeps the rows of these.
func (i *Import) outcome(
	p *page, begun int, results []contact.Result, repeats func(rows map[string]int) (map[string]int, error),
) (o outcome, err error) {
	rows := firstRows(results, p.numbers[begun:])
	earlier, err := repeats(rows)
	if err != nil {
		return o, fmt.Errorf("reading which contacts rows of the import %s have changed: %w", i.ID, err)
	}
	for n, result := range results {
		number := p.numbers[begun+n]
		found := p.read[p.from-p.first+begun+n]
		isOther := found.Skipped != "" && found.Refused == ""
		isSkipped := isOther || i.Skips(result)
		if result.Wrong != nil && !isSkipped {
			o.RowsRefused++
			o.refused = append(o.refused, i.refusal(p, begun+n, result.Wrong))
			o.addRefused(number, result.Wrong)
			continue
		}
		noted := note{row: number, cells: p.cells[begun+n]}
		if c := result.Contact; c != nil {
			noted.contact = c.ID
			if first := cmp.Or(earlier[c.ID], rows[c.ID]); first != number {
				o.RowsRepeated++
				noted.texts = append(noted.texts, fmt.Sprintf("is the same contact as row %d", first))
			}
		}
		switch {
		case isOther:
			o.RowsSkipped++
			skipped := []sheet.Warning{{Kind: sheet.LeftOut, Text: found.Skipped}}
			noted.texts = append(noted.texts, o.warn(number, skipped, false)...)
		case isSkipped:
			o.RowsSkipped++
		default:
			o.add(result.Status)
			isNamed := result.Status == contact.Created && p.items[begun+n].New != nil
			noted.texts = append(noted.texts, o.warn(number, p.notes[begun+n], isNamed)...)
		}
		if len(noted.texts) > 0 {
			o.notes = append(o.notes, noted)
		}
	}
	return o, nil
}

// firstRows returns the first row of each contact.
func firstRows(results []contact.Result, numbers []int) map[string]int {
	rows := map[string]int{}
	for n, result := range results {
		if c := result.Contact; c != nil && rows[c.ID] == 0 {
			rows[c.ID] = numbers[n]
		}
	}
	return rows
}

// warn adds the warnings about a row, and returns their texts. isNamed tells whether its contact is named by its
// company.
func (o *outcome) warn(row int, warnings []sheet.Warning, isNamed bool) (texts []string) {
	if isNamed {
		warnings = append(warnings, sheet.Warning{Kind: sheet.NoIdentity, Text: contact.CompanyIsName})
	}
	o.Warnings += len(warnings)
	for _, warning := range warnings {
		texts = append(texts, warning.Text)
		if warning.Kind != "" {
			o.problems = append(o.problems, problem{row, warning.Kind, warning.Field, false})
		}
	}
	return texts
}

// addRefused adds why a row is refused.
func (o *outcome) addRefused(row int, wrong *fault.Error) {
	if len(wrong.Fields) == 0 {
		o.problems = append(o.problems, problem{row, sheet.KindOfRow(wrong.Message), "", true})
	}
	for field, why := range wrong.Fields {
		kind, of := sheet.KindOf(field, why.Code)
		o.problems = append(o.problems, problem{row, kind, of, true})
	}
}

// inserts returns the statements that store the refusals and notes of an outcome.
func (i *Import) inserts(o outcome) ([]sqlite.Statement, error) {
	refused, err := i.refusalInserts(o.refused)
	if err != nil {
		return nil, err
	}
	noted, err := i.noteInserts(o.notes)
	return append(refused, noted...), err
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
			Text: "INSERT OR REPLACE INTO `_importRefusals` (`import`, `row`, " +
				"`tenant`, `cells`, `reason`, `fields`) VALUES (?, ?, ?, ?, ?, ?)",
			Args: []any{i.ID, refusal.Row, i.Tenant, string(cells), refusal.Reason, string(fields)},
		})
	}
	return statements, nil
}

// end marks the import as done.
func (i *Import) end(app core.App) error {
	_, err := sqlite.Exec(app, "UPDATE `_imports` SET `status` = 'done', `samples` = '[]', `updated` = ? "+
		"WHERE `id` = ? AND `status` = 'running' AND `position` = ?", stamp.Stored(time.Now()), i.ID, i.Position)
	return err
}

func (c *Counts) addAll(other Counts) {
	c.RowsCreated += other.RowsCreated
	c.RowsUpdated += other.RowsUpdated
	c.RowsUnchanged += other.RowsUnchanged
	c.RowsRefused += other.RowsRefused
	c.RowsSkipped += other.RowsSkipped
	c.RowsRepeated += other.RowsRepeated
	c.Warnings += other.Warnings
}

// args returns the counts in the order of their columns.
func (c *Counts) args() []any {
	return []any{c.RowsCreated, c.RowsUpdated, c.RowsUnchanged, c.RowsRefused, c.RowsSkipped, c.RowsRepeated, c.Warnings}
}

// add counts the result of a row that is not refused.
func (c *Counts) add(status contact.Status) {
	switch status {
	case contact.Created:
		c.RowsCreated++
	case contact.Updated:
		c.RowsUpdated++
	default:
		c.RowsUnchanged++
	}
}
