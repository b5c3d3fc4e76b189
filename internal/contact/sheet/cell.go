package sheet

import (
	"github.com/pocketbase/pocketbase/core"
	"github.com/spf13/cast"

	"contactbase/internal/wire"
)

// A cell has the value of a custom field as text if the field holds text, a number, a bool, a time or one choice, and
// as JSON if it holds JSON, a list or a point. custom.Read reads what cellOf writes.

// cellOf returns the cell of a value as the API shows it, "" for no value.
func cellOf(field core.Field, value any) (string, error) {
	if value == nil {
		return "", nil
	}
	if !isJSON(field) {
		return cast.ToStringE(value)
	}
	encoded, err := wire.AppendJSON(nil, value)
	return string(encoded), err
}

// isJSON reports whether cells have the values of the field as JSON.
func isJSON(field core.Field) bool {
	multiple, ok := field.(core.MultiValuer)
	return ok && multiple.IsMultiple() ||
		field.Type() == core.FieldTypeJSON || field.Type() == core.FieldTypeGeoPoint
}
