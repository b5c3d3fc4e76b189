package sheet

import (
	"fmt"
	"strconv"
	"strings"

	"contactbase/internal/contact"
	"contactbase/internal/contact/names"
	"contactbase/internal/contact/written"
)

// warnRepeated warns about values below repeated headings that are not those of the contact.
func (r *reading) warnRepeated() {
	for _, i := range r.repeated {
		target, value := r.Mapping[i], strings.TrimSpace(r.cells[i])
		if !isRepeatable(target) || value == "" || written.IsNoValue(value) || formulaErrors[value] != "" ||
			target == names.Name && written.IsOrder(value) {
			continue
		}
		field := whole(target)
		used, _ := r.input[field].(string)
		same := strings.Join(strings.Fields(written.Unescape(value)), " ")
		switch field {
		case contact.Email:
			same = contact.ReadEmail(value).Value
		case contact.Phone:
			same = contact.ReadPhone(value, r.whence()...).Value
		}
		isUsed := strings.EqualFold(value, used) || strings.EqualFold(same, used) ||
			names.IsHalf(target) && strings.Contains(used, same)
		if !isUsed {
			r.warn(LeftOut, field, fmt.Sprintf("%s: %s of the column %q is left out: only one value counts",
				field, strconv.Quote(Cut(value, maxShown)), r.columns[i]))
		}
	}
}
