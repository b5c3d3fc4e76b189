package sheet

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact"
	"contactbase/internal/xlsx"
)

// mark is the byte order mark by which Excel recognizes UTF-8.
const mark = "\uFEFF"

// formula has the first characters of cells that a spreadsheet program takes for formulas (OWASP, CSV Injection): it
// also skips a line feed, and knows full-width signs.
const formula = "=+-@\t\r\n＝＋－＠"

// escape returns the cell as it is written to the file. It puts an apostrophe before a formula, and before what
// unescape would change. It doubles a carriage return at the end of a line, because encoding/csv drops one.
func escape(cell string) string {
	if isFormula(cell) && !isNumber(cell) || unescape(cell) != cell {
		cell = "'" + cell
	}
	return strings.ReplaceAll(cell, "\r\n", "\r\r\n")
}

// isNumber reports whether a cell is a plus sign and digits, as phone numbers are. As a formula it is a number, too.
func isNumber(cell string) bool {
	digits, isSigned := strings.CutPrefix(cell, "+")
	return isSigned && strings.Trim(digits, "0123456789") == ""
}

// unescape is the reverse of escape, after encoding/csv has dropped the carriage returns. It also returns the text that
// people and programs protect from a spreadsheet, which would make a number or a date of it: that of '00045 and
// ="00123". It keeps any other apostrophe: many names begin with one, and '90s Music is a company.
func unescape(cell string) string {
	if bare, quoted := strings.CutPrefix(cell, "'"); quoted {
		if text := strings.TrimLeft(bare, "'"); isFormula(text) || isNumeric(text) {
			return bare
		}
		return cell
	}
	inner, isFormula := strings.CutPrefix(cell, `="`)
	inner, isWhole := strings.CutSuffix(inner, `"`)
	if text := strings.ReplaceAll(inner, `""`, ""); isFormula && isWhole && !strings.Contains(text, `"`) {
		return strings.ReplaceAll(inner, `""`, `"`)
	}
	return cell
}

// isNumeric reports whether a spreadsheet could take a cell for a number, a date or a time: it has digits, and nothing
// else but what stands between them.
func isNumeric(cell string) bool {
	return strings.Trim(cell, "0123456789.,:/- ") == "" && strings.ContainsAny(cell, "0123456789")
}

func isFormula(cell string) bool {
	first, _ := utf8.DecodeRuneInString(cell)
	return cell != "" && strings.ContainsRune(formula, first)
}

// protect returns the cell as it is written to a workbook, whose texts are no formulas: with an apostrophe more only
// if unescape would remove one.
func protect(cell string) string {
	if unescape(cell) != cell {
		return "'" + cell
	}
	return cell
}

// Writer writes a sheet. No cell in it is a formula, unless it is Data.
type Writer struct {
	rows   interface{ Write(cells []string) error }
	escape func(cell string) string
	end    func() error
	custom []core.Field
}

// NewWriter returns a writer of rows, which has written the names of the columns. CSV is in UTF-8. It uses a comma
// instead of a separator that a reader would not recognize. Close completes the file.
func NewWriter(w io.Writer, format Format, columns []string) (*Writer, error) {
	if format == Workbook {
		book, err := xlsx.NewWriter(w)
		if err != nil {
			return nil, err
		}
		writer := &Writer{rows: book, escape: protect, end: book.Close}
		return writer, writer.Write(columns)
	}
	if format == Data {
		rows := newCSVWriter(w, ',')
		rows.exact = true
		writer := &Writer{rows: rows, escape: func(cell string) string { return cell }, end: rows.out.Flush}
		return writer, writer.Write(columns)
	}
	if _, err := io.WriteString(w, mark); err != nil {
		return nil, err
	}
	separator := ','
	if strings.ContainsRune(separators, rune(format)) {
		separator = rune(format)
	}
	rows := newCSVWriter(w, separator)
	writer := &Writer{rows: rows, escape: escape, end: rows.out.Flush}
	return writer, writer.Write(columns)
}

// ContactWriter writes contacts. Close completes the file, and returns the first error of any write.
type ContactWriter interface {
	WriteContact(c *contact.Contact) error
	Close() error
}

// NewContactWriter returns a writer of contacts with these custom fields.
func NewContactWriter(w io.Writer, format Format, custom []core.Field) (ContactWriter, error) {
	if format == VCard {
		return cardWriter{bufio.NewWriter(w), custom}, nil
	}
	columns := []string{ID}
	for _, field := range contact.Fields {
		columns = append(columns, field.Name)
	}
	for _, field := range custom {
		columns = append(columns, field.GetName())
	}
	writer, err := NewWriter(w, format, append(columns, createdAt, updatedAt))
	if err != nil {
		return nil, err
	}
	writer.custom = custom
	return writer, nil
}

// Write writes a row. The error is xlsx.ErrFull if it does not fit in a workbook.
func (w *Writer) Write(cells []string) error {
	escaped := make([]string, len(cells))
	for i, cell := range cells {
		escaped[i] = w.escape(cell)
	}
	return w.rows.Write(escaped)
}

// WriteContact writes the row of a contact.
func (w *Writer) WriteContact(c *contact.Contact) error {
	cells := []string{c.ID}
	for _, field := range contact.Fields {
		cells = append(cells, field.Value(c))
	}
	for _, field := range w.custom {
		cell, err := cellOf(field, customValue(c, field.GetName()))
		if err != nil {
			return fmt.Errorf("writing the field %s of the contact %s: %w", field.GetName(), c.ID, err)
		}
		cells = append(cells, cell)
	}
	if err := w.Write(append(cells, c.Created, c.Updated)); err != nil {
		return fmt.Errorf("writing the contact %s: %w", c.ID, err)
	}
	return nil
}

// Close completes the file, and returns the first error of any write. It does not close the writer below.
func (w *Writer) Close() error { return w.end() }
