package imports

import (
	"io"
	"slices"
	"strconv"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact/sheet"
	"contactbase/internal/fault"
)

// refusalPage is how many refusals are read together.
const refusalPage = 500

// longestValue is how much of a value is shown, in characters.
const longestValue = 100

// refusal returns that of a row of the page.
func (i *Import) refusal(p *page, place int, wrong *fault.Error) Refusal {
	refused := Refusal{Row: p.numbers[place], Reason: wrong.Message, cells: p.cells[place]}
	if len(wrong.Fields) == 0 {
		return refused
	}
	refused.Reason, refused.Fields = wrong.Fields.Error(), map[string]FieldRefusal{}
	for name, field := range wrong.Fields {
		value := i.Mapping.Value(name, refused.cells)
		if characters := []rune(value); len(characters) > longestValue {
			value = string(characters[:longestValue]) + "…"
		}
		refused.Fields[name] = FieldRefusal{Value: value, Message: field.Message}
	}
	return refused
}

// WriteRefused writes the rows of an import that were refused as a sheet: as they came, in the separator of their file, with the reason and
// the number of each behind them.
// The error is sql.ErrNoRows where there is no such import.
func WriteRefused(app core.App, id string, to io.Writer) error {
	i, err := Find(app, id)
	if err != nil {
		return err
	}
	writer, err := sheet.NewWriter(to, i.separator, append(slices.Clone(i.Columns), sheet.Reason, sheet.Row))
	if err != nil {
		return err
	}
	for behind := 0; ; {
		refused, err := refusals(app, id, behind, refusalPage)
		if err != nil {
			return err
		}
		for _, refusal := range refused {
			if err := writer.Write(append(sheet.Pad(refusal.cells, len(i.Columns)), refusal.Reason, strconv.Itoa(refusal.Row))); err != nil {
				return err
			}
			behind = refusal.Row
		}
		if len(refused) < refusalPage {
			return writer.Flush()
		}
	}
}
