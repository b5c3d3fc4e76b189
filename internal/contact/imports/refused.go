package imports

import (
	"io"
	"slices"
	"strconv"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact/sheet"
)

// refusalPage is how many refusals are read at once.
const refusalPage = 500

// WriteRefused writes the refused rows of an import as a sheet: as they were sent, followed by the reason and the number of the row. The error
// is sql.ErrNoRows if there is no such import.
func WriteRefused(app core.App, id string, to io.Writer) error {
	i, err := Find(app, id)
	if err != nil {
		return err
	}
	writer, err := sheet.NewWriter(to, append(slices.Clone(i.Columns), sheet.Reason, sheet.Row))
	if err != nil {
		return err
	}
	for last := 0; ; {
		refused, err := refusals(app, id, last, refusalPage)
		if err != nil {
			return err
		}
		for _, refusal := range refused {
			if err := writer.Write(append(sheet.Pad(refusal.cells, len(i.Columns)), refusal.Reason, strconv.Itoa(refusal.Row))); err != nil {
				return err
			}
			last = refusal.Row
		}
		if len(refused) < refusalPage {
			return writer.Flush()
		}
	}
}
