package custom

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	validation "github.com/pocketbase/ozzo-validation/v4"
	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/types"

	"contactbase/internal/fault"
	"contactbase/internal/wire"
)

// maxDepth is how many levels deep the JSON of an admin's field may be nested. SQLite reads at most 1,000.
const maxDepth = 100

var tooDeep = fmt.Sprintf("must be nested at most %d levels deep", maxDepth)

// Value returns the value to store for what a caller sent, or the errors in it. It accepts the JSON type of the
// field, and nothing that would have to be converted.
func Value(field core.Field, value any) (any, *fault.Field) {
	if field.Type() == core.FieldTypeJSON {
		return jsonValue(value)
	}
	multiple, _ := field.(core.MultiValuer)
	list := multiple != nil && multiple.IsMultiple()
	if value == "" { // like null
		return nil, nil
	}
	switch v := value.(type) {
	case nil:
		return nil, nil
	case bool:
		if field.Type() == core.FieldTypeBool {
			return v, nil
		}
	case json.Number:
		if field.Type() == core.FieldTypeNumber {
			return exactDouble(v)
		}
	case string:
		if field.Type() == core.FieldTypeDate {
			return dateValue(v)
		}
		if !list && !slices.Contains(
			[]string{core.FieldTypeBool, core.FieldTypeNumber, core.FieldTypeGeoPoint}, field.Type(),
		) {
			return v, nil
		}
	case []any:
		if list && onlyStrings(v) {
			return v, nil
		}
	case map[string]any:
		if field.Type() == core.FieldTypeGeoPoint && isGeoPoint(v) {
			return finite(v)
		}
	}
	return nil, &fault.Field{
		Code: fault.CodeInvalidType, Message: "has the wrong JSON type for a field of type " + field.Type(),
	}
}

// finite returns decoded JSON, unless it contains a number beyond a double.
func finite(value any) (any, *fault.Field) {
	if hasInfinite(value) {
		return nil, errNumberTooLarge
	}
	return value, nil
}

// jsonValue returns the encoded JSON, because a record would parse a text as JSON.
func jsonValue(value any) (any, *fault.Field) {
	if value == nil { // no value, as in any other field
		return nil, nil
	}
	if number, isNumber := value.(json.Number); isNumber {
		return exactJSON(number)
	}
	if _, wrong := finite(value); wrong != nil {
		return nil, wrong
	}
	encoded, err := wire.AppendJSON(nil, value)
	if err != nil {
		return nil, &fault.Field{Code: fault.CodeInvalidType, Message: "must be JSON"}
	}
	if depth, _ := wire.Measure(encoded); depth > maxDepth {
		return nil, &fault.Field{Code: fault.CodeInvalidType, Message: tooDeep}
	}
	return types.JSONRaw(encoded), nil
}

// dateValue returns the time as it will be read: with milliseconds, and a year of four digits.
func dateValue(text string) (any, *fault.Field) {
	if text == "" {
		return nil, nil
	}
	sent, err := types.ParseDateTime(text)
	if err == nil {
		sent, err = types.ParseDateTime(sent.String())
	}
	if err != nil || sent.IsZero() {
		return nil, &fault.Field{Code: fault.CodeInvalidType, Message: "must be a time such as 2026-01-31T12:00:00.000Z"}
	}
	return sent, nil
}

func onlyStrings(list []any) bool {
	return !slices.ContainsFunc(list, func(item any) bool { _, ok := item.(string); return !ok })
}

func isGeoPoint(object map[string]any) bool {
	_, lon := object["lon"].(json.Number)
	_, lat := object["lat"].(json.Number)
	return lon && lat && len(object) == 2
}

// CheckDepth returns an error if a JSON field of a record is nested too deep. Like CheckOwner it does not check what
// is stored already.
func CheckDepth(record *core.Record, name string) error {
	value, ok := record.GetRaw(name).(types.JSONRaw)
	if !ok {
		return nil
	}
	if depth, _ := wire.Measure(value); depth <= maxDepth {
		return nil
	}
	if stored, ok := record.Original().GetRaw(name).(types.JSONRaw); ok && bytes.Equal(stored, value) {
		return nil
	}
	return validation.NewError("validation_json_depth", "The value "+tooDeep+".")
}
