package sheet

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"contactbase/internal/xlsx"
)

// csvRows reads the rows of a CSV file as spreadsheet programs do. A quotation mark counts only at the beginning of a
// cell, or behind spaces there if the cell is nothing else. The text between the closing one and the separator belongs
// to the cell. A line feed, a carriage return, or both end a row.
type csvRows struct {
	in        *bufio.Reader // with room for the largest record
	separator []byte
	exact     bool // whether line breaks in cells stay as they are
	backslash bool // whether a backslash makes a quotation mark a part of the cell
	row       int  // that was read last

	// Whether a quotation mark in a quoted cell was doubled, or had a backslash, in a row that was read.
	isDoubled, isEscaped bool
}

// Close implements io.Closer.
func (r *csvRows) Close() error { return nil }

// Read implements rowReader.
func (r *csvRows) Read() (Row, error) {
	for {
		r.skipBlank()
		found, err := r.record()
		if err != nil {
			return Row{}, err
		}
		if r.row++; len(found.cells) > 1 || found.refused != "" || found.cells[0] != "" {
			return Row{Cells: found.cells, Number: r.row, Refused: found.refused}, nil
		}
	}
}

// skipBlank skips the blank lines that are at hand, which count.
func (r *csvRows) skipBlank() {
	data, _ := r.in.Peek(r.in.Buffered())
	length := 0
	for length < len(data)-1 && (data[length] == '\r' || data[length] == '\n') {
		length += breakLength(data[length:])
		r.row++
	}
	_, _ = r.in.Discard(length) // cannot fail: it is buffered
}

// record reads the next record. The error is io.EOF after the last one.
func (r *csvRows) record() (*record, error) {
	for size := max(r.in.Buffered(), 1); ; size = nextSize(size, r.in.Size()) {
		data, err := r.in.Peek(min(size, r.in.Size()))
		atEnd := errors.Is(err, io.EOF)
		if err != nil && !atEnd {
			return nil, err
		}
		if len(data) == 0 {
			return nil, io.EOF
		}
		found := &record{
			csvRows: r, data: data, atEnd: atEnd, isAll: atEnd || len(data) == r.in.Size(), lineEnd: -1,
		}
		if found.split() {
			_, err := r.in.Discard(found.length)
			return found, err
		}
		if found.isAll {
			return &record{refused: fmt.Sprintf("the row has more than %d KiB: shorten it", maxRow>>10)}, r.skipLine()
		}
	}
}

// nextSize returns how much is looked at after a record that continues behind size bytes. Each time, it is split
// from its beginning.
func nextSize(size, most int) int {
	const few = 16 << 10
	if size < few {
		return few
	}
	return most
}

// skipLine skips the rest of a line.
func (r *csvRows) skipLine() error {
	for {
		data, err := r.in.Peek(max(r.in.Buffered(), 1))
		if err != nil {
			return ignoreEOF(err)
		}
		end := bytes.IndexAny(data, "\r\n")
		if end < 0 {
			_, _ = r.in.Discard(len(data)) // cannot fail: it is buffered
			continue
		}
		_, _ = r.in.Discard(end)
		data, err = r.in.Peek(len("\r\n"))
		_, _ = r.in.Discard(breakLength(data))
		return ignoreEOF(err)
	}
}

func ignoreEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// breakLength returns the length of the line break at the beginning of data.
func breakLength(data []byte) int {
	if bytes.HasPrefix(data, []byte("\r\n")) {
		return 2
	}
	return min(len(data), 1)
}

// record is the first record of some data, which is split into cells.
type record struct {
	*csvRows
	data    []byte
	atEnd   bool // whether the file ends with data
	isAll   bool // whether no more data can be read for this record
	lineEnd int  // where the line ends in which the next cell begins, unless it is before that cell

	length  int // in bytes, with its line break
	cells   []string
	refused string
}

// split splits the record into its cells. It returns false if the record may continue behind the data.
func (r *record) split() bool {
	for {
		isLast, ok := r.cell()
		if isLast || !ok {
			return ok
		}
	}
}

// cell takes the next cell. It returns false if the cell may continue behind the data.
func (r *record) cell() (isLast, ok bool) {
	text := ""
	spaces := len(r.data[r.length:]) - len(bytes.TrimLeft(r.data[r.length:min(len(r.data), r.length+maxSpaces)], " ")) -
		max(len(r.data)-r.length-maxSpaces, 0)
	if begin := r.length + spaces; begin < len(r.data) && r.data[begin] == '"' {
		quoted, length, isClosed := r.unquote(r.data[begin:])
		switch {
		case isClosed && (spaces == 0 || r.isEnd(r.data[begin+length:])):
			text, r.length = quoted, begin+length
		case !isClosed && !r.isAll:
			return false, false
		case spaces > 0: // a text like any other
		default: // the line ends the row, so that the rows behind it are not lost
			r.refused = "a cell has a quotation mark at its beginning, but none at its end: add it, or delete the first one"
		}
	}
	if r.lineEnd < r.length && !r.findLineEnd() {
		return false, false
	}
	rest := r.data[r.length:r.lineEnd]
	end := bytes.Index(rest, r.separator)
	if isLast = end < 0 || len(r.cells) == maxColumns; !isLast {
		r.length += end + len(r.separator)
		r.cells = append(r.cells, text+string(rest[:end]))
		return false, true
	}
	if r.length = r.lineEnd + breakLength(r.data[r.lineEnd:]); len(r.cells) == maxColumns {
		r.refused = "the row " + xlsx.ManyCells
		return true, true
	}
	r.cells = append(r.cells, text+string(rest))
	return true, true
}

// findLineEnd finds the end of the line in which the next cell begins. It returns false if that may be behind the data.
func (r *record) findLineEnd() bool {
	rest := r.data[r.length:]
	end := bytes.IndexAny(rest, "\r\n")
	if end < 0 {
		end = len(rest)
	}
	r.lineEnd = r.length + end
	return r.atEnd || end < len(rest)-1 || end < len(rest) && (rest[end] == '\n' || r.isAll)
}

// maxSpaces is how many spaces may be before a quotation mark.
const maxSpaces = 16

// isEnd reports whether a cell ends before the data, but for spaces.
func (r *record) isEnd(data []byte) bool {
	data = bytes.TrimLeft(data[:min(len(data), maxSpaces)], " ")
	return len(data) == 0 || bytes.HasPrefix(data, r.separator) || data[0] == '\r' || data[0] == '\n'
}

// unquote returns the text of a quoted cell at the beginning of data, and its length there. Like encoding/csv, it
// drops a carriage return before a line feed, but not in an exact file.
func (r *record) unquote(data []byte) (text string, length int, isClosed bool) {
	var parts []byte
	escapes := 0
	for at := 1; ; {
		quote := bytes.IndexByte(data[at:], '"')
		if quote < 0 {
			return "", 0, false
		}
		parts = append(parts, data[at:at+quote]...)
		at += quote + 1
		switch isEscape := r.backslash && quote > 0 && data[at-2] == '\\'; {
		case isEscape && r.isWithin(data[at:], escapes):
			parts = append(parts[:len(parts)-1], '"')
			escapes++
			r.isEscaped = true
		case at < len(data) && data[at] == '"':
			parts = append(parts, '"')
			at++
			r.isDoubled = true
		default:
			if !r.exact {
				parts = bytes.ReplaceAll(parts, []byte("\r\n"), []byte{'\n'})
			}
			return string(parts), at, true
		}
	}
}

// isWithin reports whether a quotation mark with a backslash before the data is a part of its cell, which has that many
// others. Before a separator or at the end of a line it ends the cell, unless it is the second of a pair, or the next
// cell would have one somewhere within or at its end.
func (r *record) isWithin(data []byte, others int) bool {
	switch {
	case len(data) == 0, data[0] == '\r', data[0] == '\n':
		return false
	case data[0] == '"': // which ends the cell, or is the second of a doubled one
		return r.isEnd(data[1:])
	case !bytes.HasPrefix(data, r.separator) || others%2 == 1:
		return true
	}
	next := data[len(r.separator):]
	if end := bytes.IndexAny(next, string(r.separator)+"\r\n"); end >= 0 {
		next = next[:end]
	}
	next = bytes.TrimLeft(next, " ")
	return len(next) > 0 && next[0] != '"' && bytes.IndexByte(next, '"') > 0
}
