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

// csvRows reads the rows of a CSV file.
type csvRows struct {
	*csv.Reader
	row  int // that was read last
	line int // that the next row begins with, unless blank lines are before it
}

// utf8Mark is the byte order mark of UTF-8.
const utf8Mark = "\xef\xbb\xbf"

// newCSV returns a reader of CSV, and its separator. The text is UTF-8, with or without a byte order mark, UTF-16 with one, or Windows-1252. Its
// cells are separated by commas, semicolons, tabs or bars, depending on what the first line has most of, or by the character that a first line
// such as "sep=;" names.
func newCSV(raw *bufio.Reader) (*csvRows, Format, error) {
	decoder := unicode.BOMOverride(mixed{})
	if mark, err := raw.Peek(len(utf8Mark)); err == nil && string(mark) == utf8Mark { // after it, BOMOverride would not check that the rest is UTF-8
		if _, err := raw.Discard(len(utf8Mark)); err != nil {
			return nil, 0, err
		}
		decoder = mixed{}
	}
	decoded := bufio.NewReaderSize(transform.NewReader(raw, decoder), firstLine)
	separator, err := separatorOf(decoded)
	if err != nil {
		return nil, 0, err
	}
	bounded := &records{Reader: decoded, separator: []byte(string(separator)), line: 1}
	rows := &csvRows{Reader: csv.NewReader(bounded), line: 1}
	rows.Comma, rows.FieldsPerRecord = separator, -1
	return rows, Format(separator), nil
}

// Close implements io.Closer.
func (r *csvRows) Close() error { return nil }

// Read implements rowReader.
func (r *csvRows) Read() (cells []string, row int, err error) {
	cells, err = r.Reader.Read()
	var wrong *csv.ParseError
	if errors.As(err, &wrong) {
		r.row += 1 + wrong.StartLine - r.line
		return nil, r.row, fmt.Errorf("row %d, in line %d, is not valid CSV: %w", r.row, wrong.Line, wrong.Err)
	}
	if err != nil {
		return nil, r.row, err
	}
	r.count(cells)
	return cells, r.row, nil
}

// count counts a row that was read, and the blank lines before it, which encoding/csv skips.
func (r *csvRows) count(cells []string) {
	line, _ := r.FieldPos(0)
	r.row += 1 + line - r.line
	r.line = line + 1
	for _, cell := range cells {
		r.line += strings.Count(cell, "\n")
	}
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
