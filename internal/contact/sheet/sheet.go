// Package sheet reads contacts from spreadsheets and writes them: CSV in UTF-8, and what Excel makes of it.
package sheet

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

const (
	// maxColumns is how many columns a sheet may have.
	maxColumns = 200

	// maxCell is how much a cell may hold, in bytes: several times what the API accepts as a value.
	maxCell = 256 << 10

	// maxRow is how much the cells of a row may hold together, in bytes.
	maxRow = 1 << 20

	// firstLine is how far the first line is looked for, in bytes.
	firstLine = 64 << 10
)

// Reader reads the rows of a sheet. The first row has the names of its columns.
type Reader struct {
	Columns   []string
	Separator rune
	csv       *csv.Reader
	row       int // that was read last
	line      int // that the next row begins with, unless blank lines are before it
}

// NewReader returns a reader that has read the names of the columns. The text is UTF-8, with or without a byte order mark,
// UTF-16 with one, or Windows-1252. Its cells are separated by commas, semicolons, tabs or bars, whichever its first line has most of,
// or by what a first line such as "sep=;" says. The error is for the person who made the sheet.
func NewReader(r io.Reader) (*Reader, error) {
	raw := bufio.NewReaderSize(r, firstLine)
	head, err := raw.Peek(firstLine)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if err := recognize(head); err != nil {
		return nil, err
	}
	decoded := bufio.NewReaderSize(transform.NewReader(raw, unicode.BOMOverride(mixed{})), firstLine)
	separator, err := separatorOf(decoded)
	if err != nil {
		return nil, err
	}
	reader := &Reader{csv: csv.NewReader(decoded), Separator: separator, line: 1}
	reader.csv.Comma, reader.csv.FieldsPerRecord = separator, -1
	columns, err := reader.record()
	if errors.Is(err, io.EOF) {
		return nil, errors.New("the file is empty; its first row must have the names of the columns")
	}
	if err != nil {
		return nil, err
	}
	for i, column := range columns {
		columns[i] = strings.TrimSpace(column)
	}
	reader.Columns = withoutBlankEnd(columns)
	switch {
	case len(reader.Columns) == 0:
		return nil, errors.New("its first row is blank; it must have the names of the columns")
	case len(reader.Columns) > maxColumns:
		return nil, fmt.Errorf("it has %d columns; a file can have at most %d: remove those that you do not need", len(reader.Columns), maxColumns)
	}
	return reader, nil
}

// Row returns the number of the row that was read last, as a spreadsheet shows it: blank lines count, and the names of the columns are
// usually in row 1.
func (r *Reader) Row() int { return r.row }

// Read returns the cells of the next row, as many as there are columns, and io.EOF behind the last one. White space around a cell is
// kept. The error of a row that has more cells, or cannot be read, ends the sheet.
func (r *Reader) Read() ([]string, error) {
	cells, err := r.record()
	if err != nil {
		return nil, err
	}
	if len(cells) > len(r.Columns) { // perhaps only a separator at the end of each line
		cells = append(cells[:len(r.Columns)], withoutBlankEnd(cells[len(r.Columns):])...)
	}
	if len(cells) > len(r.Columns) {
		return nil, fmt.Errorf("row %d has %d cells, but there are only %d columns", r.row, len(cells), len(r.Columns))
	}
	return Pad(cells, len(r.Columns)), nil
}

// record returns the cells of the next row as they were before they were escaped.
func (r *Reader) record() ([]string, error) {
	cells, err := r.csv.Read()
	if errors.Is(err, io.EOF) {
		return nil, io.EOF
	}
	var wrong *csv.ParseError
	if errors.As(err, &wrong) {
		r.row += 1 + wrong.StartLine - r.line
		return nil, fmt.Errorf("row %d, in line %d, is not valid CSV: %w", r.row, wrong.Line, wrong.Err)
	}
	if err != nil {
		return nil, err
	}
	r.count(cells)
	size := 0
	for i, cell := range cells {
		if len(cell) > maxCell {
			return nil, fmt.Errorf("row %d has a cell of %d KiB; a cell can have at most %d KiB", r.row, len(cell)>>10, maxCell>>10)
		}
		cells[i] = unescape(cell)
		size += len(cell)
	}
	if size > maxRow {
		return nil, fmt.Errorf("row %d has %d KiB; a row can have at most %d KiB", r.row, size>>10, maxRow>>10)
	}
	return cells, nil
}

// count counts a row that was read, and the blank lines before it, which encoding/csv skips.
func (r *Reader) count(cells []string) {
	line, _ := r.csv.FieldPos(0)
	r.row += 1 + line - r.line
	r.line = line + 1
	for _, cell := range cells {
		r.line += strings.Count(cell, "\n")
	}
}

// withoutBlankEnd returns the cells up to the last one that is not blank.
func withoutBlankEnd(cells []string) []string {
	for len(cells) > 0 && strings.TrimSpace(cells[len(cells)-1]) == "" {
		cells = cells[:len(cells)-1]
	}
	return cells
}

// Trim returns the cells without the empty ones at the end.
func Trim(cells []string) []string {
	for len(cells) > 0 && cells[len(cells)-1] == "" {
		cells = cells[:len(cells)-1]
	}
	return cells
}

// Pad returns the cells with as many empty ones behind them as it takes to fill the columns.
func Pad(cells []string, columns int) []string {
	if missing := columns - len(cells); missing > 0 {
		cells = append(cells, make([]string, missing)...)
	}
	return cells
}

// separatorOf returns what separates the cells, and passes over a first line that says so.
func separatorOf(r *bufio.Reader) (rune, error) {
	head, err := r.Peek(firstLine)
	if err != nil && !errors.Is(err, io.EOF) {
		return 0, err
	}
	line, _, _ := strings.Cut(string(head), "\n")
	if said, found := strings.CutPrefix(strings.TrimRight(line, "\r"), "sep="); found && utf8.RuneCountInString(said) == 1 {
		_, err := r.Discard(min(len(line)+1, len(head)))
		separator, _ := utf8.DecodeRuneInString(said)
		return separator, err
	}
	names, _, _ := strings.Cut(strings.TrimLeft(string(head), "\r\n"), "\n") // behind blank lines
	return mostFrequent(names), nil
}

// separators are what a reader recognizes between cells.
const separators = ",;\t|"

// mostFrequent returns the separator that is in the line most often outside of quotes, a comma where none is.
func mostFrequent(line string) rune {
	counts, quoted := map[rune]int{}, false
	for _, c := range line {
		if c == '"' {
			quoted = !quoted
		} else if !quoted {
			counts[c]++
		}
	}
	most := ','
	for _, separator := range separators {
		if counts[separator] > counts[most] {
			most = separator
		}
	}
	return most
}

// mixed decodes UTF-8, and bytes that are none as Windows-1252, so that a sheet need not be known as a whole to be read.
type mixed struct{ transform.NopResetter }

// Transform implements transform.Transformer.
func (mixed) Transform(dst, src []byte, atEOF bool) (written, read int, err error) {
	for read < len(src) {
		if !atEOF && !utf8.FullRune(src[read:]) {
			return written, read, transform.ErrShortSrc
		}
		character, size := utf8.DecodeRune(src[read:])
		if character == utf8.RuneError && size == 1 {
			character = charmap.Windows1252.DecodeByte(src[read])
		}
		if len(dst)-written < utf8.RuneLen(character) {
			return written, read, transform.ErrShortDst
		}
		written += utf8.EncodeRune(dst[written:], character)
		read += size
	}
	return written, read, nil
}
