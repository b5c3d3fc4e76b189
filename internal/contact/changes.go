package contact

import (
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"

	validation "github.com/pocketbase/ozzo-validation/v4"
	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/types"
	"github.com/spf13/cast"

	"contactbase/internal/fault"
	"contactbase/internal/wire"
)

// Changes are the fields that a caller sets, normalised: text for the shipped fields, what the record takes for the
// admin's own. Empty text and nil clear a field.
type Changes map[string]any

// causeField is where a record carries the event that its change passes on. Names that start with @ are no fields.
const causeField = "@cause"

// CausedBy marks the changes as the result of another installation's event: what they emit keeps that event's id, by
// which a circle of installations comes to rest.
func (c Changes) CausedBy(eventID string) Changes {
	c[causeField] = eventID
	return c
}

// causeOf returns the event that the record's change passes on, "" where there is none.
func causeOf(record *core.Record) string {
	cause, _ := record.GetRaw(causeField).(string)
	return cause
}

// ParseChanges checks the fields of a request against the rules of the collection. Numbers in input are json.Number.
// The error is a fault.Fields when the input is at fault.
func ParseChanges(app core.App, input map[string]any) (changes Changes, err error) {
	err = withSchema(app, func(s *schema) error {
		changes, err = s.parse(input)
		return err
	})
	return changes, err
}

func (s *schema) parse(input map[string]any) (Changes, error) {
	changes, faults := Changes{}, fault.Fields{}
	for name, value := range input {
		if field := FieldNamed(name); field != nil {
			text, wrong := textValue(value)
			if wrong == nil {
				text, wrong = field.normalize(text, field.Limit)
			}
			if wrong != nil {
				faults[name] = *wrong
			}
			changes[name] = text
			continue
		}
		if slices.Contains(ignoredFields, name) {
			continue
		}
		field := s.customField(name)
		if field == nil {
			faults[name] = unknownField
			continue
		}
		if !writable(field) {
			continue
		}
		custom, wrong := customValue(field, value)
		if wrong != nil {
			faults[name] = *wrong
		}
		changes[name] = custom
	}
	if len(faults) > 0 {
		return nil, faults
	}
	return changes, nil
}

// known checks that the changes are about fields of this schema; they may have been parsed with another one.
func (s *schema) known(changes Changes) error {
	faults := fault.Fields{}
	for name := range changes {
		if FieldNamed(name) == nil && name != causeField && s.customField(name) == nil {
			faults[name] = unknownField
		}
	}
	if len(faults) > 0 {
		return faults
	}
	return nil
}

var unknownField = fault.Field{Code: CodeUnknownField, Message: "is not a field of a contact"}

func textValue(value any) (string, *fault.Field) {
	switch v := value.(type) {
	case nil:
		return "", nil
	case string:
		return v, nil
	default:
		return "", &fault.Field{Code: CodeInvalidType, Message: "must be a string or null"}
	}
}

// customValue accepts the JSON type that belongs to the admin's field and nothing that would have to be coerced.
func customValue(field core.Field, value any) (any, *fault.Field) {
	if field.Type() == core.FieldTypeJSON {
		encoded, err := wire.AppendJSON(nil, value) // as a value: the record would take a text for the JSON in it
		if err != nil {
			return nil, &fault.Field{Code: CodeInvalidType, Message: "must be JSON"}
		}
		if deeper(encoded, maxDepth) {
			return nil, &fault.Field{Code: CodeInvalidType, Message: tooDeep}
		}
		return types.JSONRaw(encoded), nil
	}
	if value == nil {
		return nil, nil
	}
	multiple, _ := field.(core.MultiValuer)
	list := multiple != nil && multiple.IsMultiple()
	switch v := value.(type) {
	case bool:
		if field.Type() == core.FieldTypeBool {
			return v, nil
		}
	case json.Number:
		if number, err := v.Float64(); err == nil && field.Type() == core.FieldTypeNumber {
			return number, nil
		}
	case string:
		switch field.Type() {
		case core.FieldTypeDate:
			if date, err := types.ParseDateTime(v); err != nil || (date.IsZero() && v != "") {
				return nil, &fault.Field{Code: CodeInvalidType, Message: "must be a time such as 2026-01-31T12:00:00.000Z"}
			}
			return v, nil
		case core.FieldTypeBool, core.FieldTypeNumber, core.FieldTypeGeoPoint:
		default:
			if !list {
				return v, nil
			}
		}
	case []any:
		if list && onlyStrings(v) {
			return v, nil
		}
	case map[string]any:
		if field.Type() == core.FieldTypeGeoPoint && isGeoPoint(v) {
			return v, nil
		}
	}
	return nil, &fault.Field{Code: CodeInvalidType, Message: "has the wrong JSON type for a field of the kind " + field.Type()}
}

func onlyStrings(list []any) bool {
	return !slices.ContainsFunc(list, func(item any) bool { _, ok := item.(string); return !ok })
}

func isGeoPoint(object map[string]any) bool {
	_, lon := object["lon"].(json.Number)
	_, lat := object["lat"].(json.Number)
	return lon && lat && len(object) == 2
}

// apply sets the changes on the record and checks what only the whole contact can tell.
func (s *schema) apply(app core.App, record *core.Record, changes Changes) error {
	for name, value := range changes {
		record.Set(name, value)
	}
	faults := fault.Fields{}
	if record.GetString("name") == "" && record.GetString("email") == "" {
		faults = nameOrEmail()
	}
	for _, field := range s.custom {
		wrong, err := validate(app, record, field)
		if err != nil {
			return err
		}
		if wrong != nil {
			faults[field.GetName()] = customFault(wrong)
		}
	}
	if len(faults) > 0 {
		return faults
	}
	return nil
}

// nameOrEmail is what is wrong with a contact that has neither.
func nameOrEmail() fault.Fields {
	wrong := fault.Field{Code: CodeRequired, Message: "name or email must be present"}
	return fault.Fields{"name": wrong, "email": wrong}
}

// customFault words the verdict of PocketBase on an admin's field in the codes of this API.
func customFault(err error) fault.Field {
	code := CodeInvalidType
	var coded validation.Error
	if errors.As(err, &coded) {
		switch name := coded.Code(); {
		case strings.Contains(name, "required"):
			code = CodeRequired
		case strings.Contains(name, "max_text"):
			code = CodeTooLong
		case strings.Contains(name, "email"):
			code = CodeInvalidEmail
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
			return json.Number(strconv.FormatFloat(number, 'f', -1, 64))
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
