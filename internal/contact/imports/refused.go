package imports

import (
	"context"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact/sheet"
	"contactbase/internal/fault"
)

// refusalPage is how many refusals are read at once.
const refusalPage = 500

// longestValue is how much of a value is shown, in characters.
const longestValue = 100

// refusal returns the refusal of the page's n-th row.
func (i *Import) refusal(p *page, n int, wrong *fault.Error) Refusal {
	refused := Refusal{Row: p.numbers[n], Reason: wrong.Message, cells: p.cells[n]}
	if len(wrong.Fields) == 0 {
		return refused
	}
	refused.Reason, refused.Fields = wrong.Fields.Error(), map[string]FieldRefusal{}
	for name, field := range wrong.Fields {
		refused.Fields[name] = FieldRefusal{
			Value: sheet.Cut(i.Mapping.Value(name, refused.cells), longestValue), Message: field.Message,
		}
	}
	return refused
}

// WriteRefused writes the refused rows of an import as a sheet: as they were sent, followed by the reason and the
// number of the row. The error is sql.ErrNoRows if there is no such import.
func WriteRefused(app core.App, id string, format sheet.Format, to io.Writer) error {
	i, err := Find(app, id)
	if err != nil {
		return err
	}
	writer, err := sheet.NewWriter(to, format, append(slices.Clone(i.Columns), sheet.ReasonColumn, sheet.RowColumn))
	if err != nil {
		return err
	}
	for last := 0; ; {
		refused, err := refusals(app, id, last, refusalPage)
		if err != nil {
			return err
		}
		for _, refusal := range refused {
			if err := writer.Write(
				append(sheet.Pad(refusal.cells, len(i.Columns)), refusal.Reason, strconv.Itoa(refusal.Row)),
			); err != nil {
				return err
			}
			last = refusal.Row
		}
		if len(refused) < refusalPage {
			return writer.Close()
		}
	}
}

// Problems are the kinds of rows that WriteProblems writes.
var Problems = []string{"refused", "warnings"}

// WriteProblems writes the rows of an import that are refused, or those with warnings, as CSV for spreadsheets: as they
// were sent, followed by the errors or warnings of each. The kind is one of Problems. The error is sql.ErrNoRows if
// there is no such import. It stops between two pages when ctx ends.
func WriteProblems(ctx context.Context, app core.App, id, kind string, to io.Writer) error {
	i, err := Find(app, id)
	if err != nil {
		return err
	}
	format := i.Format
	if format == sheet.Workbook {
		format = sheet.CSV
	}
	columns := len(i.Columns)
	if columns > 0 && i.Columns[columns-1] == sheet.ProblemColumn && i.Mapping[columns-1] == "" {
		columns-- // of a file that was written here
	}
	writer, err := sheet.NewWriter(to, format, append(slices.Clone(i.Columns[:columns]), sheet.ProblemColumn))
	if err != nil {
		return err
	}
	for last := -1; ; {
		page, err := i.problems(app, kind, last)
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		for _, row := range page {
			last = row.row
			if row.cells == nil { // a note about the whole file
				continue
			}
			cells := sheet.Pad(row.cells, columns)[:columns]
			if err := writer.Write(append(slices.Clone(cells), strings.Join(row.texts, "; "))); err != nil {
				return err
			}
		}
		if len(page) < refusalPage {
			return writer.Close()
		}
	}
}

// problems returns the next rows of a kind after a row.
func (i *Import) problems(app core.App, kind string, after int) ([]note, error) {
	if kind != Problems[0] {
		return notes(app, i.ID, after, refusalPage)
	}
	refused, err := refusals(app, i.ID, after, refusalPage)
	rows := make([]note, len(refused))
	for n, r := range refused {
		rows[n] = note{row: r.Row, texts: []string{r.Reason}, cells: notNil(r.cells)}
	}
	return rows, err
}
