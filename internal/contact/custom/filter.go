package custom

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/types"

	"contactbase/internal/fault"
)

// filterTypes are the types of fields that lists can be filtered by. The first are those of which the fewest contacts
// usually share a value.
var filterTypes = []string{
	core.FieldTypeEmail, core.FieldTypeURL, core.FieldTypeText,
	core.FieldTypeRelation, core.FieldTypeDate, core.FieldTypeNumber,
	core.FieldTypeSelect, core.FieldTypeBool,
}

// FilterRank returns how well a filter by the admin's field narrows a list, 0 being best, and whether lists can be
// filtered by the field.
func FilterRank(field core.Field) (rank int, ok bool) {
	if multiple, is := field.(core.MultiValuer); is && multiple.IsMultiple() {
		return 0, false
	}
	rank = slices.Index(filterTypes, field.Type())
	return rank, rank >= 0
}

// FilterValue returns the stored value that a query parameter stands for, or the errors in the parameter.
func FilterValue(field core.Field, text string) (any, *fault.Field) {
	wrong := func(message string) (any, *fault.Field) {
		return nil, &fault.Field{Code: fault.CodeInvalidValue, Message: message}
	}
	if text == "" {
		return wrong("must not be empty; leave the parameter out to list all")
	}
	switch field.Type() {
	case core.FieldTypeNumber:
		number, err := strconv.ParseFloat(text, 64)
		if err != nil || !json.Valid([]byte(text)) {
			return wrong("must be a number, such as 12.5")
		}
		return number, nil
	case core.FieldTypeBool:
		if text != "true" && text != "false" {
			return wrong("must be true or false")
		}
		return text == "true", nil
	case core.FieldTypeDate:
		if strings.Contains(text, "T") { // a plus sign of a time zone that was not encoded arrives as a space
			text = strings.Replace(text, " ", "+", 1)
		}
		date, invalid := dateValue(text)
		if invalid != nil {
			return wrong(invalid.Message)
		}
		return date.(types.DateTime).String(), nil
	case core.FieldTypeEmail:
		return strings.ReplaceAll(text, " ", "+"), nil
	default:
		return text, nil
	}
}
