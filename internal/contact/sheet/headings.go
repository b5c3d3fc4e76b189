package sheet

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

const (
	// headingRows is how many rows may be above the row of the headings, with that row.
	headingRows = 20

	// looked is at how many rows Sample looks.
	looked = 100

	// maxAhead is how many bytes are read ahead. One row more may be.
	maxAhead = 4 << 20
)

// findHeadings reads the row of the headings: the chosen one, or of the first 20 rows the first in which at
// least two cells are known headings, or one if most rows below are not wider; else the first row. sheets are
// those of a workbook.
func (r *Reader) findHeadings(choice Choice, sheets []string) error {
	last := headingRows
	if choice.Headings > 0 {
		last = choice.Headings
	}
	if last > maxHeadingsRow {
		return fmt.Errorf("the headings can be in one of the first %d rows", maxHeadingsRow)
	}
	if err := r.readAhead(func(row Row) bool { return row.Number < last }); err != nil {
		return err
	}
	if len(r.ahead) == 0 && len(sheets) > 1 && choice.Sheet == "" {
		return fmt.Errorf("its first sheet is empty: choose one of the sheets %s", strings.Join(sheets, ", "))
	}
	if len(r.ahead) == 0 {
		return errors.New("it is empty; a row must have the names of the columns")
	}
	at := slices.IndexFunc(r.ahead, func(row Row) bool { return row.Number == choice.Headings })
	switch {
	case choice.Headings == 0:
		at = r.likelyHeadings(choice.Known)
	case at < 0:
		return fmt.Errorf("its row %d is blank: choose the row that has the names of the columns", choice.Headings)
	}
	if at < 0 && len(sheets) > 1 && choice.Sheet == "" {
		return fmt.Errorf("its first sheet has no known headings: "+
			"choose one of the sheets %s, or the row of the headings", strings.Join(sheets, ", "))
	}
	if value := firstValue(r.ahead[0].Cells); at < 0 && value != "" {
		return fmt.Errorf("it has no headings, but values such as %q in row %d: add a first row "+
			"with the names of the columns, for example name, email and phone", value, r.ahead[0].Number)
	}
	return r.take(max(at, 0))
}

// maxHeadingsRow is the last row that can be chosen as that of the headings.
const maxHeadingsRow = 1_000

// take makes a row that was read ahead the row of the headings.
func (r *Reader) take(at int) error {
	for _, row := range r.ahead[:at] {
		r.Above = append(r.Above[:min(len(r.Above), headingRows)], Cut(heading(joined(row.Cells)), maxHeading))
	}
	row := r.ahead[at]
	r.ahead, r.Headings, r.width = r.ahead[at+1:], row.Number, len(row.Cells)
	if row.Refused != "" {
		return fmt.Errorf("the row of the headings, row %d, cannot be read: %s", row.Number, row.Refused)
	}
	r.Columns = withoutBlankEnd(row.Cells)
	for i, column := range r.Columns {
		r.Columns[i] = Cut(heading(column), maxHeading)
	}
	tellApart(r.Columns)
	return nil
}

// tellApart makes the second of two columns with the heading "Email" "Email#2", or the first number after it
// that no column has.
func tellApart(columns []string) {
	taken, last := map[string]bool{}, map[string]int{}
	for i, name := range columns {
		for n := max(last[name], 1) + 1; name != "" && taken[columns[i]]; n++ {
			columns[i], last[name] = name+"#"+strconv.Itoa(n), n
		}
		taken[columns[i]] = true
	}
}

// heading returns a heading in one line.
func heading(cell string) string { return strings.Join(strings.Fields(cell), " ") }

// readAhead reads rows ahead while they continue, and not too many bytes.
func (r *Reader) readAhead(continues func(Row) bool) error {
	size := 0
	for size < maxAhead {
		row, err := r.read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		for _, cell := range row.Cells {
			size += len(cell)
		}
		row.Cells = slices.Clone(row.Cells)
		if r.ahead = append(r.ahead, row); !continues(row) {
			break
		}
	}
	return nil
}

// likelyHeadings returns the index of the row with headings, -1 if no row has known ones.
func (r *Reader) likelyHeadings(known func(heading string) bool) int {
	for at, row := range r.ahead {
		count, width := 0, len(withoutBlankEnd(row.Cells))
		for _, cell := range row.Cells[:min(width, maxColumns)] {
			if known(heading(cell)) {
				count++
			}
		}
		wider := 0
		for _, below := range r.ahead[at+1:] {
			if len(withoutBlankEnd(below.Cells)) > width {
				wider++
			}
		}
		if count > 1 || count == 1 && 2*wider <= len(r.ahead)-at-1 {
			return at
		}
	}
	return -1
}

// firstValue returns an email address or a telephone number among the cells, "" if there is none:
// these are no headings.
func firstValue(cells []string) string {
	for _, cell := range cells {
		if looksLike["email"](cell) && !strings.ContainsAny(strings.TrimSpace(cell), " ") ||
			looksLike["phone"](cell) && strings.HasPrefix(strings.TrimSpace(cell), "+") {
			return Cut(strings.TrimSpace(cell), maxShown)
		}
	}
	return ""
}

// Sample returns the first rows below the headings, which Read returns, too.
func (r *Reader) Sample() (rows [][]string, err error) {
	if missing := looked - len(r.ahead); missing > 0 {
		err = r.readAhead(func(Row) bool { missing--; return missing > 0 })
	}
	for _, row := range r.ahead[:min(looked, len(r.ahead))] {
		rows = append(rows, row.Cells)
	}
	return rows, err
}
