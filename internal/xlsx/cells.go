package xlsx

import (
	"encoding/xml"
	"fmt"
	"slices"
	"strconv"
)

// RowError means that a row cannot be read. The rows below it can.
type RowError struct {
	Row    int
	Reason string // such as "has more than 1024 KiB"
}

// Error implements error.
func (e *RowError) Error() string { return fmt.Sprintf("row %d %s", e.Row, e.Reason) }

// Read returns the cells of the next row that is not blank, up to the last one with a value, and the number of the
// row. The cells are valid until the next call: a file of rows with one far cell each is small, and its rows are not.
// It returns io.EOF after the last row. After an error that is not a *RowError, do not call Read again.
func (r *Reader) Read() (cells []string, row int, err error) {
	for {
		token, err := r.sheet.next()
		if err != nil {
			return nil, r.row, unexpected(err)
		}
		switch element := token.(type) {
		case xml.StartElement:
			if element.Name.Local != "row" {
				continue
			}
			if err := r.count(element); err != nil {
				return nil, r.row, err
			}
			if cells, err := r.cells(); err != nil || len(cells) > 0 {
				return cells, r.row, err
			}
		case xml.EndElement:
			if element.Name.Local == "sheetData" {
				return nil, r.row, r.sheet.end()
			}
		}
	}
}

// count sets the number of the row that has begun.
func (r *Reader) count(row xml.StartElement) error {
	r.row++
	if named, err := strconv.Atoi(attribute(row, "r")); err == nil && named > r.row && named <= maxRows {
		r.row = named
	}
	if r.row > maxRows {
		return fmt.Errorf("the sheet has more than %d rows, blank ones included: "+
			"delete the rows behind the last contact, or split it", maxRows)
	}
	return nil
}

// cells returns the cells of the row that has begun. If it cannot be read, they are left out, and the
// error is a *RowError.
func (r *Reader) cells() ([]string, error) {
	row, column := cellRow{number: r.row, cells: r.last[:0]}, -1
	defer func() { r.last = row.cells }()
	for {
		token, err := r.sheet.next()
		if err != nil {
			return nil, unexpected(err)
		}
		switch element := token.(type) {
		case xml.StartElement:
			if element.Name.Local != "c" {
				continue
			}
			column = columnOf(attribute(element, "r"), column+1)
			text, err := r.cell(element)
			if err == nil {
				err = r.give(text)
			}
			if err != nil {
				return nil, fmt.Errorf("cell %s%d: %w", columnName(column), r.row, err)
			}
			if column >= maxColumns {
				return nil, damaged(fmt.Errorf("row %d has a cell behind column %s", r.row, columnName(maxColumns-1)))
			}
			row.add(column, text)
		case xml.EndElement:
			if element.Name.Local == "row" {
				return row.result()
			}
		}
	}
}

// cellRow is a row while it is read.
type cellRow struct {
	number  int
	cells   []string
	size    int       // of all texts, in bytes
	refused *RowError // nil if the row can be read
}

// add adds the text of a cell.
func (r *cellRow) add(column int, text string) {
	r.size += len(text)
	switch {
	case text == "" || r.refused != nil:
		return
	case r.size > maxText:
		r.refused = &RowError{r.number, fmt.Sprintf("has more than %d KiB: shorten it", maxText>>10)}
		return
	case column >= MaxCells:
		r.refused = &RowError{r.number, ManyCells}
		return
	case column >= len(r.cells):
		before := len(r.cells)
		r.cells = slices.Grow(r.cells, column+1-before)[:column+1]
		clear(r.cells[before:])
	}
	r.cells[column] = text
}

func (r *cellRow) result() ([]string, error) {
	if r.refused != nil {
		return nil, r.refused
	}
	return r.cells, nil
}

// give counts the text of a cell. A small sheet can name a long text, or have a number in a long format, any number
// of times, so what all its cells have is limited by its size.
func (r *Reader) give(text string) error {
	read := maxPart - r.sheet.limits.left
	if r.given += int64(len(text)); r.given > r.shared.size+maxRepeated+maxRepeats*read {
		return errRepeated
	}
	return nil
}

// NoResult is the text of a formula whose result the workbook does not have.
const NoResult = "#NORESULT!"

// cell returns the text of the cell that has begun, as people see it: of a formula its result, an error such as
// #N/A, or NoResult.
func (r *Reader) cell(element xml.StartElement) (string, error) {
	c, err := r.sheet.content("c")
	if err != nil {
		return "", err
	}
	kind := attribute(element, "t")
	if c.formula && c.text == "" && kind != "str" {
		return NoResult, nil
	}
	switch kind {
	case "s":
		return r.shared.text(c.text)
	case "str", "inlineStr", "d":
		return unescape(c.text), nil
	case "b":
		return map[bool]string{true: "TRUE", false: "FALSE"}[c.text == "1" || c.text == "true"], nil
	case "e":
		return c.text, nil
	}
	shown := format{}
	if style, err := strconv.Atoi(attribute(element, "s")); err == nil && style >= 0 && style < len(r.formats) {
		shown = r.formats[style]
	}
	return shown.number(c.text, r.from1904), nil
}

// columnOf returns the index of the column in the name of a cell such as AB12, or next if it has no name.
func columnOf(cell string, next int) int {
	column := 0
	for i := 0; i < len(cell) && column <= maxColumns && cell[i] >= 'A' && cell[i] <= 'Z'; i++ {
		column = column*26 + int(cell[i]-'A') + 1
	}
	if column == 0 {
		return next
	}
	return column - 1
}

// columnName is the reverse of columnOf.
func columnName(column int) (name string) {
	for left := column + 1; left > 0; left = (left - 1) / 26 {
		name = string(rune('A'+(left-1)%26)) + name
	}
	return name
}
