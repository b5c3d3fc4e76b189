// Package sheet reads and writes spreadsheets of contacts: CSV in UTF-8, and as Excel saves it.
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
	// maxColumns is the maximum number of columns of a sheet.
	maxColumns = 200

	// maxCell is the maximum size of a cell in bytes: several times what the API accepts as a value.
	maxCell = 256 << 10

	// maxRow is the maximum size of all cells of a row in bytes.
	maxRow = 1 << 20

	// firstLine is the maximum size of the first line in bytes, as far as it shows the separator.
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

// NewReader returns a reader that has read the names of the columns. The text is UTF-8, with or without a byte order mark, UTF-16 with one, or
// Windows-1252. Its cells are separated by commas, semicolons, tabs or bars, depending on what the first line has most of, or by the character that a
// first line such as "sep=;" names. The error is for the person who made the sheet.
func NewReader(r io.Reader) (*Reader, error) {
	raw := bufio.NewReaderSize(r, firstLine)
	head, err := raw.Peek(firstLine)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if err := recognize(head); err != nil {
		return nil, err
	}
	decoder := unicode.BOMOverride(mixed{})
	if mark := byteOrderMarks[0]; strings.HasPrefix(string(head), mark) { // after it, BOMOverride would not check that the rest is UTF-8
		if _, err := raw.Discard(len(mark)); err != nil {
			return nil, err
		}
		decoder = mixed{}
	}
	decoded := bufio.NewReaderSize(transform.NewReader(raw, decoder), firstLine)
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

// Row returns the number of the last row read, as a spreadsheet shows it: blank lines count, and the names of the columns are
// usually in row 1.
func (r *Reader) Row() int { return r.row }

// Read returns the cells of the next row, as many as there are columns, and io.EOF after the last row. It keeps white space around a cell. After
// an error, because a row has more cells or cannot be read, do not call Read again.
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

// record returns the cells of the next row, without their escapes.
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

// Pad returns the cells, with empty ones added up to the number of columns.
func Pad(cells []string, columns int) []string {
	if missing := columns - len(cells); missing > 0 {
		cells = append(cells, make([]string, missing)...)
	}
	return cells
}

// separatorOf returns the separator of the cells, and skips a first line that names it.
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

// separators are those that a reader recognizes.
const separators = ",;\t|"

// mostFrequent returns the separator that the line has most often outside of quotes, a comma if it has none.
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

// mixed decodes UTF-8, and bytes that are not UTF-8 as Windows-1252, so that a sheet can be read before all of it is known.
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
