package sheet

import (
	"bytes"
	"fmt"
	"io"
)

// maxCells is the maximum number of cells of a CSV record.
const maxCells = 1_000

// records reads CSV text, and ends with an error in a record that is too large: encoding/csv would keep all of it.
type records struct {
	io.Reader
	separator []byte
	line      int // in which the record begins
	lines     int // in the record before
	quoted    bool
	size      int // of the record, in bytes
	cells     int // of the record, less one
}

// Read implements io.Reader.
func (r *records) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	for rest := p[:n]; len(rest) > 0; {
		end := bytes.IndexByte(rest, '"') + 1
		if end == 0 {
			end = len(rest)
		}
		if wrong := r.count(rest[:end]); wrong != nil {
			return 0, wrong
		}
		if rest[end-1] == '"' {
			r.quoted = !r.quoted
		}
		rest = rest[end:]
	}
	return n, err
}

// count counts text that is quoted as a whole or not at all.
func (r *records) count(text []byte) error {
	if !r.quoted {
		for {
			line, after, isEnd := bytes.Cut(text, []byte{'\n'})
			if !isEnd {
				break
			}
			if err := r.check(len(line), bytes.Count(line, r.separator)); err != nil {
				return err
			}
			r.line += r.lines + 1
			r.lines, r.size, r.cells, text = 0, 0, 0, after
		}
		r.cells += bytes.Count(text, r.separator)
	} else {
		r.lines += bytes.Count(text, []byte{'\n'})
	}
	r.size += len(text)
	return r.check(0, 0)
}

// check returns an error if the record has too much, with what has not been counted yet.
func (r *records) check(size, separators int) error {
	if size += r.size; size > maxRow {
		return fmt.Errorf("the row in line %d has more than %d KiB: shorten it, or check that each quotation mark has a second one", r.line, maxRow>>10)
	}
	if cells := r.cells + separators + 1; cells > maxCells {
		return fmt.Errorf("the row in line %d has more than %d cells: delete the columns that you do not need", r.line, maxCells)
	}
	return nil
}
