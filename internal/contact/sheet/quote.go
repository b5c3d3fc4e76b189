package sheet

import (
	"bufio"
	"io"
	"strings"
)

// csvWriter writes rows as CSV. Unlike encoding/csv, it quotes a cell that holds the separator of any locale: a
// program that expects another one would split the cell, and could take a part for a formula.
type csvWriter struct {
	out       *bufio.Writer
	separator rune
	exact     bool // whether it writes what a reader takes for an exact file
	begun     bool
}

func newCSVWriter(w io.Writer, separator rune) *csvWriter {
	return &csvWriter{out: bufio.NewWriter(w), separator: separator}
}

// Write writes a row.
func (w *csvWriter) Write(cells []string) error {
	for i, cell := range cells {
		if i > 0 {
			_, _ = w.out.WriteRune(w.separator) // the error remains until the end of the row
		}
		isMark := w.exact && !w.begun // see exactBegin
		w.begun = true
		if isMark || strings.ContainsAny(cell, separators+"\"\r\n") || strings.HasPrefix(cell, " ") {
			cell = `"` + strings.ReplaceAll(cell, `"`, `""`) + `"`
		}
		_, _ = w.out.WriteString(cell)
	}
	return w.out.WriteByte('\n')
}
