// Package sheet reads contacts from spreadsheets and writes them to such: CSV in UTF-8, and what Excel makes of it.
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

	// maxRow is how much the cells of a row may hold together, in bytes.
	maxRow = 256 << 10

	// firstLine is how far the first line is looked for, in bytes.
	firstLine = 64 << 10
)

// Reader reads the rows of a sheet. The first row has the names of its columns.
type Reader struct {
	Columns []string
	csv     *csv.Reader
	row     int
}

// NewReader returns a reader that has read the names of the columns. The text is UTF-8, with or without a byte order mark,
// UTF-16 with one, or Windows-1252. Its cells are separated by commas, semicolons, tabs or bars, whichever its first line has most of,
// or by what a first line such as "sep=;" says. The error is for whoever made the sheet.
func NewReader(r io.Reader) (*Reader, error) {
	decoded := bufio.NewReaderSize(transform.NewReader(r, unicode.BOMOverride(mixed{})), firstLine)
	separator, err := separatorOf(decoded)
	if err != nil {
		return nil, err
	}
	reader := &Reader{csv: csv.NewReader(decoded)}
	reader.csv.Comma, reader.csv.FieldsPerRecord = separator, -1
	if reader.Columns, err = reader.Read(); errors.Is(err, io.EOF) {
		return nil, errors.New("the file is empty; its first row must have the names of the columns")
	}
	return reader, err
}

// Read returns the cells of the next row, trimmed, as many as there are columns, and io.EOF behind the last one. A row that has more is
// refused by an error, and so is one that cannot be read; either ends the sheet.
func (r *Reader) Read() ([]string, error) {
	cells, err := r.csv.Read()
	if errors.Is(err, io.EOF) {
		return nil, io.EOF
	}
	r.row++
	var wrong *csv.ParseError
	if errors.As(err, &wrong) {
		return nil, fmt.Errorf("row %d, in line %d, is no CSV: %w", r.row, wrong.Line, wrong.Err)
	}
	if err != nil {
		return nil, err
	}
	size := 0
	for i, cell := range cells {
		cells[i] = restore(strings.TrimSpace(cell))
		size += len(cell)
	}
	columns := len(r.Columns)
	if columns == 0 {
		columns = maxColumns
	}
	for len(cells) > columns && cells[len(cells)-1] == "" {
		cells = cells[:len(cells)-1] // a separator at the end of each line
	}
	switch {
	case len(cells) > columns:
		return nil, fmt.Errorf("row %d has %d cells, and there are %d columns at the most", r.row, len(cells), columns)
	case size > maxRow:
		return nil, fmt.Errorf("row %d is larger than %d KiB", r.row, maxRow>>10)
	}
	for len(cells) < len(r.Columns) {
		cells = append(cells, "")
	}
	return cells, nil
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
	return mostFrequent(line), nil
}

// mostFrequent returns the separator that is in the line most often outside of quotes, a comma where none is.
func mostFrequent(line string) rune {
	const separators = ",;\t|"
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
