// Package sheet reads and writes spreadsheets of contacts: Excel workbooks, and CSV in UTF-8 and as Excel saves it.
package sheet

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"contactbase/internal/xlsx"
)

const (
	// maxColumns is the maximum number of columns of a sheet.
	maxColumns = 200

	// maxCell is the maximum size of a cell in bytes: several times what the API accepts as a value.
	maxCell = 256 << 10

	// maxRow is the maximum size of all cells of a row in bytes.
	maxRow = 1 << 20

	// maxHeading is the maximum length of the name of a column in characters: the rest of a longer one is cut off.
	maxHeading = 200

	// firstLine is the maximum size of the first line in bytes, as far as it shows the separator.
	firstLine = 64 << 10
)

// Format is the format of a file: Workbook, or the separator of a CSV file.
type Format rune

// The formats of exports.
const (
	Workbook Format = 0
	CSV      Format = ','
)

// FormatOf returns the format of a file to write, by its name: Workbook or CSV.
func FormatOf(name string) Format {
	if strings.EqualFold(filepath.Ext(name), workbookExtension) {
		return Workbook
	}
	return CSV
}

// Extension returns how the name of a file of this format ends.
func (f Format) Extension() string {
	if f == Workbook {
		return workbookExtension
	}
	return ".csv"
}

const workbookExtension = ".xlsx"

// Reader reads the rows of a sheet. The first row has the names of its columns. Close it after use.
type Reader struct {
	Columns []string
	Format  Format
	rows    rowReader
	row     int // that was read last
}

// rowReader reads the rows of a file, with their numbers as a spreadsheet shows them, in which blank rows count.
type rowReader interface {
	Read() (cells []string, row int, err error)
	io.Closer
}

// NewReader returns a reader that has read the names of the columns. It recognizes a workbook by its content, and reads the sheet with the given name,
// by default the first one; meanwhile it keeps a temporary file in the folder. Other files are CSV, see newCSV. The error is for the person who
// made the file, unless it is an *fs.PathError. Once ctx ends, the reader returns an error.
func NewReader(ctx context.Context, r io.Reader, folder, name string) (*Reader, error) {
	raw := bufio.NewReaderSize(&cancellable{ctx, r}, firstLine)
	head, err := raw.Peek(firstLine)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if err := recognize(head); err != nil {
		return nil, err
	}
	reader := &Reader{Format: Workbook}
	switch {
	case bytes.HasPrefix(head, []byte(archive)):
		reader.rows, err = xlsx.Open(ctx, raw, folder, name)
	case name != "":
		return nil, fmt.Errorf("it is a CSV file, which has no sheet named %q: leave out the sheet", name)
	default:
		reader.rows, reader.Format, err = newCSV(raw)
	}
	if err != nil {
		return nil, err
	}
	if err := reader.readColumns(); err != nil {
		return nil, errors.Join(err, reader.Close())
	}
	return reader, nil
}

// cancellable reads until ctx ends.
type cancellable struct {
	ctx context.Context
	io.Reader
}

func (c *cancellable) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.Reader.Read(p)
}

// Close ends reading.
func (r *Reader) Close() error { return r.rows.Close() }

func (r *Reader) readColumns() error {
	columns, err := r.record()
	if errors.Is(err, io.EOF) {
		return errors.New("the file is empty; its first row must have the names of the columns")
	}
	if err != nil {
		return err
	}
	for i, column := range columns {
		columns[i] = Cut(strings.TrimSpace(column), maxHeading)
	}
	r.Columns = withoutBlankEnd(columns)
	switch {
	case len(r.Columns) == 0:
		return errors.New("its first row is blank; it must have the names of the columns")
	case len(r.Columns) > maxColumns:
		return fmt.Errorf("it has %d columns; a file can have at most %d: remove those that you do not need", len(r.Columns), maxColumns)
	}
	return nil
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
func (r *Reader) record() (cells []string, err error) {
	if cells, r.row, err = r.rows.Read(); err != nil {
		return nil, err
	}
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

// withoutBlankEnd returns the cells up to the last one that is not blank.
func withoutBlankEnd(cells []string) []string {
	for len(cells) > 0 && strings.TrimSpace(cells[len(cells)-1]) == "" {
		cells = cells[:len(cells)-1]
	}
	return cells
}

// Cut returns the text up to a number of characters.
func Cut(text string, most int) string {
	for i := range text {
		if most--; most < 0 {
			return text[:i]
		}
	}
	return text
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
