package sheet

import (
	"encoding/csv"
	"fmt"
	"io"
	"strings"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact"
)

// mark is the byte order mark by which Excel knows UTF-8.
const mark = "\uFEFF"

// formula are the characters by which a cell begins that a spreadsheet takes for a formula (OWASP, CSV Injection).
const formula = "=+-@\t\r"

// escape returns the cell as the file has it: with an apostrophe in front of what a spreadsheet would take for a formula, and in front of
// what would be such a formula without its own apostrophes, and with a second carriage return where a line ends with one, because
// encoding/csv drops the first.
func escape(cell string) string {
	if isFormula(strings.TrimLeft(cell, "'")) {
		cell = "'" + cell
	}
	return strings.ReplaceAll(cell, "\r\n", "\r\r\n")
}

// unescape undoes what escape does, once encoding/csv has dropped the carriage returns. Any other apostrophe stays: many names begin with
// one.
func unescape(cell string) string {
	if bare, quoted := strings.CutPrefix(cell, "'"); quoted && isFormula(strings.TrimLeft(bare, "'")) {
		return bare
	}
	return cell
}

func isFormula(cell string) bool {
	return cell != "" && strings.ContainsRune(formula, rune(cell[0]))
}

// Writer writes a sheet in UTF-8. Nothing in it is a formula.
type Writer struct {
	csv    *csv.Writer
	custom []core.Field
}

// NewWriter returns a writer of rows, which begins with the names of the columns. A separator that a reader would not recognize is a comma.
func NewWriter(w io.Writer, separator rune, columns []string) (*Writer, error) {
	if _, err := io.WriteString(w, mark); err != nil {
		return nil, err
	}
	writer := &Writer{csv: csv.NewWriter(w)}
	if strings.ContainsRune(separators, separator) {
		writer.csv.Comma = separator
	}
	return writer, writer.Write(columns)
}

// NewContactWriter returns a writer of contacts that have these fields of the admin's own.
func NewContactWriter(w io.Writer, custom []core.Field) (*Writer, error) {
	columns := []string{ID}
	for _, field := range contact.Fields {
		columns = append(columns, field.Name)
	}
	for _, field := range custom {
		columns = append(columns, field.GetName())
	}
	writer, err := NewWriter(w, ',', append(columns, createdAt, updatedAt))
	if err == nil {
		writer.custom = custom
	}
	return writer, err
}

// Write writes a row.
func (w *Writer) Write(cells []string) error {
	escaped := make([]string, len(cells))
	for i, cell := range cells {
		escaped[i] = escape(cell)
	}
	return w.csv.Write(escaped)
}

// WriteContact writes the row of a contact.
func (w *Writer) WriteContact(c *contact.Contact) error {
	cells := []string{c.ID}
	for _, field := range contact.Fields {
		cells = append(cells, field.Value(c))
	}
	values := map[string]any{}
	for _, custom := range c.Custom {
		values[custom.Name] = custom.Value
	}
	for _, field := range w.custom {
		cell, err := cellOf(field, values[field.GetName()])
		if err != nil {
			return fmt.Errorf("writing the field %s of the contact %s: %w", field.GetName(), c.ID, err)
		}
		cells = append(cells, cell)
	}
	return w.Write(append(cells, c.Created, c.Updated))
}

// Flush writes what waits, and returns the first error of any write.
func (w *Writer) Flush() error {
	w.csv.Flush()
	return w.csv.Error()
}
