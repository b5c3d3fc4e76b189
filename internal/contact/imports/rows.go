package imports

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/sqlite"
)

// readRows reads the first refusals and notes, and those of the rows that findings name.
func (i *Import) readRows(app core.App) (err error) {
	if i.Refusals, err = refusals(app, i.ID, 0, maxShown); err != nil {
		return err
	}
	if i.Notes, err = Notes(app, i.ID, maxShown); err != nil {
		return err
	}
	lastRefused, lastNoted := -1, -1
	if n := len(i.Refusals); n > 0 {
		lastRefused = i.Refusals[n-1].Row
	}
	if n := len(i.Notes); n > 0 {
		lastNoted = i.Notes[n-1].Row
	}
	for _, row := range i.namedRows() {
		if err := i.readRow(app, row, row > lastRefused, row > lastNoted); err != nil {
			return err
		}
	}
	return nil
}

// readRow reads the refusal and the notes of a row, if it has any.
func (i *Import) readRow(app core.App, row int, refusal, noted bool) error {
	if refusal {
		more, err := refusals(app, i.ID, row-1, 1)
		if err != nil {
			return err
		}
		if len(more) > 0 && more[0].Row == row {
			i.Refusals = append(i.Refusals, more...)
		}
	}
	if noted {
		more, err := notes(app, i.ID, row-1, 1)
		if err != nil {
			return err
		}
		if len(more) > 0 && more[0].row == row {
			i.Notes = more[0].appendTo(i.Notes)
		}
	}
	return nil
}

// namedRows returns the rows that findings name, in their order.
func (i *Import) namedRows() (rows []int) {
	for _, finding := range i.Findings[:min(len(i.Findings), maxShown)] {
		rows = append(rows, finding.Rows...)
	}
	slices.Sort(rows)
	return slices.Compact(rows)
}

const refusalsSQL = "SELECT `row`, `reason`, `cells`, `fields` " +
	"FROM `_importRefusals` WHERE `import` = ? AND `row` > ? ORDER BY `row` LIMIT ?"

// refusals returns up to limit refusals of an import after a row.
func refusals(app core.App, id string, after, limit int) (found []Refusal, err error) {
	err = sqlite.Each(sqlite.Direct(app.ConcurrentDB()), refusalsSQL, func(rows *sql.Rows) error {
		refusal, cells, fields := Refusal{}, "", ""
		if err := rows.Scan(&refusal.Row, &refusal.Reason, &cells, &fields); err != nil {
			return err
		}
		err := errors.Join(json.Unmarshal([]byte(cells), &refusal.cells), json.Unmarshal([]byte(fields), &refusal.Fields))
		found = append(found, refusal)
		return err
	}, id, after, limit)
	if err != nil {
		return nil, fmt.Errorf("reading the refusals of the import %s: %w", id, err)
	}
	return found, nil
}
