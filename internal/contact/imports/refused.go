package imports

import (
	"io"
	"slices"
	"strconv"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact/sheet"
)

// refusalPage is how many refusals are read together.
const refusalPage = 500

// WriteRefused writes the rows of an import that were refused as a sheet: as they came, with the reason and the number of each behind them.
// The error is sql.ErrNoRows where there is no such import.
func WriteRefused(app core.App, id string, to io.Writer) error {
	i, err := Find(app, id)
	if err != nil {
		return err
	}
	writer, err := sheet.NewWriter(to, append(slices.Clone(i.Columns), sheet.Reason, sheet.Row))
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
