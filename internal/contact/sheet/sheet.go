// Package sheet reads and writes files of contacts: Excel workbooks, CSV as spreadsheet programs save it, and vCards.
package sheet

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"contactbase/internal/charset"
	"contactbase/internal/xlsx"
)

const (
	// maxColumns is the maximum number of columns of a sheet.
	maxColumns = xlsx.MaxCells

	// maxImported is the maximum number of columns of a sheet that are imported.
	maxImported = 200

	// maxCell is the maximum size of a cell in bytes: several times what the API accepts as a value.
	maxCell = 256 << 10

	// maxRow is the maximum size of all cells of a row in bytes.
	maxRow = 1 << 20

	// maxShown is the maximum length of a value in a message, in characters.
	maxShown = 100

	// maxHeading is the maximum length of a heading in characters: the rest of a longer one is cut off.
	maxHeading = 200

	// firstLine is the maximum size of the first line in bytes, as far as it shows the separator.
	firstLine = 64 << 10
)

// Format is the format of a file: Workbook, VCard, or the separator of a CSV file.
type Format rune

// The formats of exports.
const (
	Workbook Format = 0
	CSV      Format = ','
	VCard    Format = 'v'

	// Data is CSV for programs: it changes no cell, although a spreadsheet could take one for a formula.
	Data Format = 'd'
)

// Purposes are what CSV is exported for, the default first.
var Purposes = []string{"spreadsheet", "data"}

// For returns the format for a purpose, "" for the default one. ok is false for an unknown one.
func (f Format) For(purpose string) (format Format, ok bool) {
	if f == CSV && purpose == Purposes[1] {
		return Data, true
	}
	return f, purpose == "" || slices.Contains(Purposes, purpose)
}

// Formats has the formats of exports by their names.
var Formats = map[string]Format{"csv": CSV, "xlsx": Workbook, "vcf": VCard}

// FormatOf returns the format of a file to write, by its name: CSV unless it ends with that of another format.
func FormatOf(name string) Format {
	if format, ok := Formats[strings.ToLower(strings.TrimPrefix(filepath.Ext(name), "."))]; ok {
		return format
	}
	return CSV
}

// Extension returns how the name of a file of this format ends.
func (f Format) Extension() string {
	for name, format := range Formats {
		if format == f {
			return "." + name
		}
	}
	return ".csv"
}

// Reader reads the rows of a sheet. Close it after use.
type Reader struct {
	Columns  []string // the headings; the second "Email" is "Email#2"
	Headings int      // the number of their row
	Above    []string // the text of the rows above it
	Format   Format
	Encoding string // of a text, by its WHATWG name; "" of a workbook

	FileWarnings []string // about the whole file

	// The encodings that a text may be in, the one by which it is read first, if its encoding is not certain.
	Undecided []charset.Candidate

	from     *source
	encoding charset.Result

	isLabelled bool // whether lines may name their character sets

	rows  rowReader
	ended error // why rows has no more
	exact bool  // whether the cells have no escapes
	ahead []Row // that were read to find the headings, and to look at the values below them
	width int   // of the row of the headings, with the empty ones at its end
}

// Row is a row of a sheet.
type Row struct {
	Cells   []string // one for each column, with the white space around it
	Number  int      // as a spreadsheet shows it: blank lines count
	Refused string   // why it cannot be read, "" if it can
	Skipped string   // why it is not of a contact, "" if it is
	Warning string   // about cells that are left out, "" for none
}

// rowReader reads the rows of a file that are not blank, with as many cells as they have. The cells of a row are valid
// until the next one is read.
type rowReader interface {
	Read() (Row, error)
	io.Closer
}

// Choice is which part of a file is read.
type Choice struct {
	Sheet    string // of a workbook, "" for the first one
	Headings int    // the number of the row that has the headings, 0 to look for them
	Known    func(heading string) bool
	Encoding string   // of a text, "" to find it out
	Country  string   // where the file comes from, "" if unknown
	Custom   []string // the names of custom fields, which vCards can have, too
}

// NewReader returns a reader that has read the headings: see Reader.findHeadings. It recognizes a workbook and vCards
// by their content; of a workbook it keeps a temporary file in the folder. Other files are CSV, see newCSV. The error
// is for the person who made the file, unless it is an *fs.PathError. Once ctx ends, the reader returns an error.
func NewReader(ctx context.Context, r io.Reader, folder string, choice Choice) (*Reader, error) {
	from, err := newSource(ctx, r, folder)
	if err != nil {
		return nil, err
	}
	reader := &Reader{from: from}
	if err := reader.open(folder, choice); err != nil {
		return nil, errors.Join(err, reader.Close())
	}
	return reader, nil
}

// open finds out what the file is, and reads its headings.
func (r *Reader) open(folder string, choice Choice) error {
	raw := bufio.NewReaderSize(r.from, firstLine)
	head, err := raw.Peek(firstLine)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if err := recognize(head); err != nil {
		return err
	}
	sheets := []string(nil)
	switch isCards := isVCard(head); {
	case bytes.HasPrefix(head, []byte(archive)):
		book, err := xlsx.Open(r.from.ctx, raw, folder, choice.Sheet)
		if err != nil {
			return err
		}
		r.Format, r.rows, sheets = Workbook, workbookRows{book}, book.Sheets
	case choice.Sheet != "":
		return fmt.Errorf("it is not a workbook, so it has no sheet named %q: leave out the sheet", choice.Sheet)
	case isCards && choice.Headings != 0:
		return errors.New("it has vCards, which have no row of headings: do not choose one")
	default:
		if isCards && bytes.IndexByte(head, 0) < 0 { // not UTF-16
			if r.isLabelled, err = r.from.contains(charsetParameter); err != nil {
				return err
			}
		}
		if err := r.findEncoding(head, choice); err != nil {
			return err
		}
		if !isCards {
			if err := r.openCSV(choice.Known); err != nil {
				return err
			}
			break
		}
		return r.openCards(choice)
	}
	return r.findHeadings(choice, sheets)
}

// openCards makes r read vCards. Refused ones are written as CSV.
func (r *Reader) openCards(choice Choice) error {
	text, err := r.text()
	if err != nil {
		return err
	}
	found, err := surveyCards(text)
	if err != nil {
		return err
	}
	if text, err = r.text(); err != nil {
		return err
	}
	rows := newCardRows(text)
	rows.country, rows.custom = choice.Country, found.offered
	if found.hasOwn {
		rows.custom = slices.Concat(choice.Custom, found.offered)
	}
	r.FileWarnings = append(r.FileWarnings, found.warnings()...)
	r.Format, r.rows = CSV, rows
	return r.findHeadings(choice, nil)
}

// workbookRows reads the rows of a workbook.
type workbookRows struct{ *xlsx.Reader }

// Read implements rowReader.
func (w workbookRows) Read() (Row, error) {
	cells, number, err := w.Reader.Read()
	if wrong, ok := errors.AsType[*xlsx.RowError](err); ok {
		return Row{Number: number, Refused: "the row " + wrong.Reason}, nil
	}
	return Row{Cells: cells, Number: number}, err
}

// Close ends reading.
func (r *Reader) Close() error {
	if r.rows == nil {
		return r.from.Close()
	}
	return errors.Join(r.rows.Close(), r.from.Close())
}

// Read returns the next row, and io.EOF after the last one. After an error, do not call Read again.
func (r *Reader) Read() (Row, error) {
	row, err := r.next()
	if err != nil {
		return row, err
	}
	var more []string
	if len(row.Cells) > len(r.Columns) {
		more = withoutBlankEnd(row.Cells[len(r.Columns):])
		row.Cells = row.Cells[:len(r.Columns):len(r.Columns)]
	}
	switch {
	case row.Refused != "" || len(more) == 0:
	case r.Format == Workbook || len(r.Columns)+len(more) <= r.width:
		row.Warning = fmt.Sprintf("%s, which no heading names, left out", strconv.Quote(Cut(joined(more), maxShown)))
	default:
		row.Refused = fmt.Sprintf("the row has %d cells, but there are only %d headings: "+
			"put a cell that contains the separator in quotation marks", len(r.Columns)+len(more), r.width)
	}
	if r.Format == Workbook {
		row.Cells = append(make([]string, 0, len(r.Columns)), row.Cells...) // those of the reader change
	}
	row.Cells = Pad(row.Cells, len(r.Columns))
	return row, nil
}

// joined returns the cells that are not blank as one text.
func joined(cells []string) string {
	var found []string
	for _, cell := range cells {
		if cell != "" && strings.TrimSpace(cell) != "" {
			found = append(found, cell)
		}
	}
	return strings.Join(found, " ")
}

// next returns the next row that was read ahead, or the next one of the file.
func (r *Reader) next() (Row, error) {
	if len(r.ahead) == 0 {
		return r.read()
	}
	row := r.ahead[0]
	r.ahead = r.ahead[1:]
	return row, nil
}

// read reads the next row of the file that has a value, and takes the escapes from its cells.
func (r *Reader) read() (Row, error) {
	for {
		if r.ended != nil {
			return Row{}, r.ended
		}
		row, err := r.rows.Read()
		if err != nil {
			r.ended = err
			continue
		}
		r.finish(&row)
		if row.Refused != "" || row.Skipped != "" || len(withoutBlankEnd(row.Cells)) > 0 {
			return row, nil
		}
	}
}

// finish takes the escapes from the cells of a row, and refuses one that is too large.
func (r *Reader) finish(row *Row) {
	size := 0
	for i, cell := range row.Cells {
		if cell == "" { // as most are in a row with one far cell
			continue
		}
		if len(cell) > maxCell {
			row.Refused = fmt.Sprintf("the row has a cell of %d KiB; a cell can have at most %d KiB",
				len(cell)>>10, maxCell>>10)
			row.Cells[i] = ""
		}
		if !r.exact {
			row.Cells[i] = unescape(row.Cells[i])
		}
		size += len(row.Cells[i])
	}
	if size > maxRow {
		row.Refused, row.Cells = fmt.Sprintf("the row has %d KiB; a row can have at most %d KiB", size>>10, maxRow>>10), nil
	}
}

// withoutBlankEnd returns the cells up to the last one that is not blank.
func withoutBlankEnd(cells []string) []string {
	for len(cells) > 0 && strings.TrimSpace(cells[len(cells)-1]) == "" {
		cells = cells[:len(cells)-1]
	}
	return cells
}

// Cut returns the text with at most that many characters. If it is cut, the last one is an ellipsis.
func Cut(text string, most int) string {
	end := 0
	for i := range text {
		switch most--; most {
		case 0:
			end = i
		case -1:
			return text[:end] + "…"
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
