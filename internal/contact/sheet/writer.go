package sheet

import (
	"encoding/csv"
	"fmt"
	"io"
	"strings"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact"
)

// mark is the byte order mark by which Excel recognizes UTF-8.
const mark = "\uFEFF"

// formula has the first characters of cells that a spreadsheet program takes for formulas (OWASP, CSV Injection).
const formula = "=+-@\t\r"

// escape returns the cell as it is written to the file. It puts an apostrophe before a formula, and before a formula with apostrophes of its own.
// It doubles a carriage return at the end of a line, because encoding/csv drops one.
func escape(cell string) string {
	if isFormula(strings.TrimLeft(cell, "'")) {
		cell = "'" + cell
	}
	return strings.ReplaceAll(cell, "\r\n", "\r\r\n")
}

// unescape is the reverse of escape, after encoding/csv has dropped the carriage returns. It keeps any other apostrophe: many names begin with
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

// Writer writes a sheet in UTF-8. No cell in it is a formula.
type Writer struct {
	csv    *csv.Writer
	custom []core.Field
}

// NewWriter returns a writer of rows, which has written the names of the columns. It uses a comma instead of a separator that a reader would not recognize.
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

// NewContactWriter returns a writer of contacts with these custom fields.
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

// Flush writes buffered rows, and returns the first error of any write.
func (w *Writer) Flush() error {
	w.csv.Flush()
	return w.csv.Error()
}
