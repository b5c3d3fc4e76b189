package imports

import (
	"io"
	"slices"
	"strconv"

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
