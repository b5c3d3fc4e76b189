package sheet

import (
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/pocketbase/pocketbase/core"
	"github.com/spf13/cast"

	"contactbase/internal/wire"
)

// A cell has the value of a custom field as text if the field holds text, a number, a bool, a time or one choice, and
// as JSON if it holds JSON, a list or a point. valueOf reads what cellOf writes.

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
	return isList(field) || field.Type() == core.FieldTypeJSON || field.Type() == core.FieldTypeGeoPoint
}

// isText reports whether white space around a value of the field is a part of it.
func isText(field core.Field) bool {
	return field.Type() == core.FieldTypeText || field.Type() == core.FieldTypeEditor
}

func isList(field core.Field) bool {
	multiple, ok := field.(core.MultiValuer)
	return ok && multiple.IsMultiple()
}

// valueOf returns the value of a cell as a JSON decoder returns it. If the cell does not fit the field, the value is
// its text, which the rules of the field refuse.
func valueOf(field core.Field, cell string) any {
	trimmed := strings.TrimSpace(cell)
	switch {
	case isList(field):
		if list, ok := decode(trimmed); ok {
			if list, ok := list.([]any); ok {
				return list
			}
		}
		return []any{choice(field, cell)}
	case field.Type() == core.FieldTypeJSON:
		if value, ok := decode(trimmed); ok {
			return value
		}
		return cell
	case field.Type() == core.FieldTypeGeoPoint:
		if point, ok := decode(trimmed); ok {
			return point
		}
		return cell
	case field.Type() == core.FieldTypeNumber:
		return number(trimmed)
	case field.Type() == core.FieldTypeBool:
		if truth, err := strconv.ParseBool(strings.ToLower(trimmed)); err == nil {
			return truth
		}
		return trimmed
	case isText(field):
		return cell
	default:
		return choice(field, cell)
	}
}

// choice returns the cell unchanged if the field offers that choice, and otherwise without the white space around it.
func choice(field core.Field, cell string) string {
	if offers, ok := field.(*core.SelectField); ok && slices.Contains(offers.Values, cell) {
		return cell
	}
	return strings.TrimSpace(cell)
}

// number returns a JSON number, or the text if it is not a number. 12% is 0.12, as spreadsheets compute with it.
func number(text string) any {
	if value, ok := decode(text); ok {
		return value
	}
	exponent := text
	if percent, ok := strings.CutSuffix(text, "%"); ok {
		exponent = percent + "e-2"
	}
	if value, err := strconv.ParseFloat(exponent, 64); err == nil { // such as +1 or .5
		if plain := strconv.FormatFloat(value, 'f', -1, 64); json.Valid([]byte(plain)) { // not an infinity
			return json.Number(plain)
		}
	}
	return text
}

// decode returns the value of a JSON text, and whether the text is JSON.
func decode(text string) (value any, ok bool) {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	if decoder.Decode(&value) != nil {
		return nil, false
	}
	_, err := decoder.Token()
	return value, errors.Is(err, io.EOF)
}
