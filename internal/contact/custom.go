package contact

import (
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"

	validation "github.com/pocketbase/ozzo-validation/v4"
	"github.com/pocketbase/ozzo-validation/v4/is"
	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/types"
	"github.com/spf13/cast"

	"contactbase/internal/fault"
	"contactbase/internal/wire"
)

// The admin's own fields: what callers may send for them, and what is wrong with that.

// customValue accepts the JSON type that belongs to the admin's field and nothing that would have to be coerced.
func customValue(field core.Field, value any) (any, *fault.Field) {
	if field.Type() == core.FieldTypeJSON {
		return jsonValue(value)
	}
	multiple, _ := field.(core.MultiValuer)
	list := multiple != nil && multiple.IsMultiple()
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
		if !list && !slices.Contains([]string{core.FieldTypeBool, core.FieldTypeNumber, core.FieldTypeGeoPoint}, field.Type()) {
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
	return nil, &fault.Field{Code: fault.CodeInvalidType, Message: "has the wrong JSON type for a field of the kind " + field.Type()}
}

// finite returns decoded JSON, unless it has a number beyond a double.
func finite(value any) (any, *fault.Field) {
	if hasInfinite(value) {
		return nil, errNumberTooLarge
	}
	return value, nil
}

// jsonValue returns the JSON as a value: the record would take a text for the JSON in it.
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

// dateValue returns the time as it will be read: in milliseconds, and in a year of four digits.
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

// customFault words the verdict of PocketBase on an admin's field in the codes of this API.
func customFault(err error) fault.Field {
	code := fault.CodeInvalidType
	var coded validation.Error
	if errors.As(err, &coded) {
		switch coded.Code() {
		case validation.ErrRequired.Code():
			code = fault.CodeRequired
		case "validation_max_text_constraint":
			code = fault.CodeTooLong
		case is.ErrEmail.Code(), "validation_email_domain_not_allowed":
			code = fault.CodeInvalidEmail
		}
	}
	message := strings.TrimSuffix(err.Error(), ".")
	if message != "" {
		message = strings.ToLower(message[:1]) + message[1:]
	}
	return fault.Field{Code: code, Message: message}
}

// CustomInput picks from the properties that another system sent those that are fields of the admin's own, in the
// JSON types that ParseChanges takes, and names the rest. The properties are strings, or nil for no value.
func CustomInput(app core.App, sent map[string]any) (input map[string]any, unknown []string, _ error) {
	input = map[string]any{}
	err := withSchema(app, func(s *schema) error {
		for name, value := range sent {
			field := s.customField(name)
			if field == nil || !writable(field) {
				unknown = append(unknown, name)
				continue
			}
			input[name] = value
			if text, ok := value.(string); ok && text != "" {
				input[name] = fromText(field, text)
			}
		}
		return nil
	})
	slices.Sort(unknown)
	return input, unknown, err
}

// fromText returns the JSON value that a text stands for in the admin's field, the text itself where it is none.
func fromText(field core.Field, text string) any {
	switch field.Type() {
	case core.FieldTypeNumber:
		if number, err := cast.ToFloat64E(text); err == nil {
			if !json.Valid([]byte(text)) { // such as .5
				text = strconv.FormatFloat(number, 'f', -1, 64)
			}
			return json.Number(text)
		}
	case core.FieldTypeBool:
		if truth, err := cast.ToBoolE(text); err == nil {
			return truth
		}
	}
	if multiple, ok := field.(core.MultiValuer); ok && multiple.IsMultiple() {
		return []any{text}
	}
	return text
}
