package sheet

import (
	"encoding/csv"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cast"

	"contactbase/internal/contact"
	"contactbase/internal/wire"
)

// mark is the byte order mark by which Excel knows UTF-8.
const mark = "\uFEFF"

// formula are the characters by which a cell begins that a spreadsheet takes for a formula (OWASP, CSV Injection).
const formula = "=+-@\t\r"

// defuse puts an apostrophe in front of what a spreadsheet would take for a formula.
func defuse(cell string) string {
	if cell != "" && strings.ContainsRune(formula, rune(cell[0])) {
		return "'" + cell
	}
	return cell
}

// restore takes back what defuse did.
func restore(cell string) string {
	if len(cell) > 1 && cell[0] == '\'' && strings.ContainsRune(formula, rune(cell[1])) {
		return cell[1:]
	}
	return cell
}

// Writer writes a sheet in UTF-8, separated by commas. Nothing in it is a formula.
type Writer struct {
	csv    *csv.Writer
	custom []string
}

// NewWriter returns a writer of rows, which begins with the names of the columns.
func NewWriter(w io.Writer, columns []string) (*Writer, error) {
	if _, err := io.WriteString(w, mark); err != nil {
		return nil, err
	}
	writer := &Writer{csv: csv.NewWriter(w)}
	return writer, writer.Write(columns)
}

// NewContactWriter returns a writer of contacts that have these fields of the admin's own.
func NewContactWriter(w io.Writer, custom []string) (*Writer, error) {
	columns := []string{"id"}
	for _, field := range contact.Fields {
		columns = append(columns, field.Name)
	}
	writer, err := NewWriter(w, append(append(columns, custom...), "createdAt", "updatedAt"))
	if err == nil {
		writer.custom = custom
	}
	return writer, err
}

// Write writes a row.
func (w *Writer) Write(cells []string) error {
	defused := make([]string, len(cells))
	for i, cell := range cells {
		defused[i] = defuse(cell)
	}
	return w.csv.Write(defused)
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
	for _, name := range w.custom {
		cell, err := textOf(values[name])
		if err != nil {
			return fmt.Errorf("writing the field %s of the contact %s: %w", name, c.ID, err)
		}
		cells = append(cells, cell)
	}
	return w.Write(append(cells, c.Created, c.Updated))
}

// textOf returns the text of a value, JSON where it is more than a text, a number or a truth.
func textOf(value any) (string, error) {
	if value == nil {
		return "", nil
	}
	if text, err := cast.ToStringE(value); err == nil {
		return text, nil
	}
	encoded, err := wire.AppendJSON(nil, value)
	return string(encoded), err
}

// Flush writes what waits, and returns the first error of any write.
func (w *Writer) Flush() error {
	w.csv.Flush()
	return w.csv.Error()
}
