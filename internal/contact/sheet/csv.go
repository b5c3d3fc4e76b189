package sheet

import (
	"bufio"
	"errors"
	"io"
	"strings"
	"unicode/utf8"

	"contactbase/internal/contact"
	"contactbase/internal/contact/names"
)

// exactBegin begins a CSV file that an export for programs wrote: its first heading is quoted, unlike the others, which
// no other program does. So its cells have no escapes.
const exactBegin = `"` + contact.ID + `",` + names.Name + `,`

// openCSV makes r read CSV. Its cells are separated by the character that a first line such as "sep=;" names, or by
// commas, semicolons, tabs or bars: see separatorOf. Quotation marks in quoted cells are doubled. They have a backslash
// if a cell would end too early otherwise, and none is doubled in any cell.
func (r *Reader) openCSV(known func(heading string) bool) error {
	mayBackslash, err := r.from.contains(`\"`)
	if err != nil {
		return err
	}
	rows, err := r.newCSV(known)
	if err != nil || !mayBackslash || rows.exact {
		return err
	}
	for rows.backslash = true; err == nil && !rows.isDoubled; {
		_, err = rows.Read()
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	isBackslash := rows.isEscaped && !rows.isDoubled
	if isBackslash {
		r.FileWarnings = append(r.FileWarnings, `a quotation mark behind a backslash (\") is read as one within the cell`)
	}
	rows, err = r.newCSV(known)
	if err == nil {
		rows.backslash = isBackslash
	}
	return err
}

// newCSV makes r read CSV from its first line.
func (r *Reader) newCSV(known func(heading string) bool) (*csvRows, error) {
	text, err := r.text()
	if err != nil {
		return nil, err
	}
	decoded := bufio.NewReaderSize(text, maxRow)
	head, _ := decoded.Peek(len(exactBegin))
	r.exact = string(head) == exactBegin
	separator, err := separatorOf(decoded, known)
	rows := &csvRows{in: decoded, separator: []byte(string(separator)), exact: r.exact}
	r.Format, r.rows = Format(separator), rows
	return rows, err
}

// separatorOf returns the separator of the cells, and skips a first line that names it. It is the one that splits one
// of the first lines into most known headings, if these are at least two, otherwise the one that the first line with
// a separator has most of, and a comma if a line before it is one known heading.
func separatorOf(r *bufio.Reader, known func(heading string) bool) (rune, error) {
	head, err := r.Peek(firstLine)
	if err != nil && !errors.Is(err, io.EOF) {
		return 0, err
	}
	line, _, _ := strings.Cut(string(head), "\n")
	if said, found := strings.CutPrefix(strings.TrimRight(line, "\r"), "sep="); found &&
		utf8.RuneCountInString(said) == 1 {
		_, err := r.Discard(min(len(line)+1, len(head)))
		separator, _ := utf8.DecodeRuneInString(said)
		return separator, err
	}
	lines := strings.FieldsFunc(string(head), func(c rune) bool { return c == '\n' || c == '\r' })
	best, most := ',', 1
	for _, line := range lines[:min(len(lines), headingRows)] {
		for _, separator := range separators {
			if count := knownCells(line, separator, known); count > most {
				best, most = separator, count
			}
		}
	}
	for _, line := range lines {
		if most > 1 || known(heading(strings.Trim(line, ` "`))) { // or there is one column
			break
		}
		best, most = mostFrequent(line)
	}
	return best, nil
}

// separators are those that a reader recognizes.
const separators = ",;\t|"

// knownCells returns how many cells of a line are known headings.
func knownCells(line string, separator rune, known func(heading string) bool) (count int) {
	cells := strings.Split(line, string(separator))
	for _, cell := range cells[:min(len(cells), maxColumns)] {
		if known(heading(strings.Trim(cell, ` "`))) {
			count++
		}
	}
	return count
}

// mostFrequent returns the separator that the line has most often outside of quotes, a comma if it has none, and how
// many parts it separates.
func mostFrequent(line string) (most rune, parts int) {
	counts, quoted := map[rune]int{}, false
	for _, c := range line {
		if c == '"' {
			quoted = !quoted
		} else if !quoted {
			counts[c]++
		}
	}
	most = ','
	for _, separator := range separators {
		if counts[separator] > counts[most] {
			most = separator
		}
	}
	return most, counts[most] + 1
}
