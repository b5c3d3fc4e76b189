package contact

import (
	"slices"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact/custom"
	"contactbase/internal/fault"
)

// Changes are the normalised values of the fields that a caller sets: texts for the shipped fields, and for custom
// fields the values that a record accepts. An empty text or nil clears a field. A field that callers cannot write has
// the value that they sent, which must be the current one.
type Changes map[string]any

// ParseChanges checks the fields of a request against the rules of the collection. Numbers in input are json.Number.
// The error is a fault.Fields if the input is invalid.
func ParseChanges(app core.App, input map[string]any) (changes Changes, err error) {
	err = custom.RetryOutdated(app, func(app core.App) error {
		changes, err = parseChanges(app, input)
		return err
	})
	return changes, err
}

func parseChanges(app core.App, input map[string]any) (Changes, error) {
	s, err := schemaFor(app)
	if err != nil {
		return nil, err
	}
	changes, faults := Changes{}, fault.Fields{}
	var record *core.Record // holds the values while they are checked
	for name, value := range input {
		if slices.Contains(ignoredFields, name) {
			continue
		}
		var wrong *fault.Field
		if field := FieldNamed(name); field != nil {
			changes[name], wrong = field.parse(value)
		} else if field := s.customField(name); field == nil {
			wrong = &unknownField
		} else if !custom.Writable(field) {
			changes[name] = value
		} else {
			if record == nil {
				record = core.NewRecord(s.collection)
			}
			changes[name], wrong = parseCustom(record, field, value)
		}
		if wrong != nil {
			faults[name] = *wrong
		}
	}
	if len(faults) > 0 {
		return nil, faults
	}
	return changes, nil
}

// parse returns the value of a field as it is stored, or the errors in it.
func (f *Field) parse(value any) (text string, wrong *fault.Field) {
	if text, wrong = textValue(value); wrong == nil {
		text, wrong = f.normalize(text, f.Limit)
	}
	return text, wrong
}

// parseCustom returns the value of a custom field, or the errors in it. record holds the values while they are checked.
func parseCustom(record *core.Record, field core.Field, value any) (parsed any, wrong *fault.Field) {
	if parsed, wrong = custom.Value(field, value); wrong == nil {
		wrong = checkValue(record, field, parsed)
	}
	return parsed, wrong
}

// checkValue returns the errors in a value, for any contact. Relations are checked in the transaction, so that the
// response time does not reveal whether a row belongs to another tenant or does not exist.
func checkValue(record *core.Record, field core.Field, value any) *fault.Field {
	custom.Set(record, field, value)
	if field.Type() == core.FieldTypeRelation || custom.IsGenerated(field, record) {
		return nil
	}
	wrong := custom.Check(field, record)
	if wrong == nil {
		return nil
	}
	found := custom.Fault(wrong)
	return &found
}

// unknown returns the errors of fields that the schema does not have, nil if there are none: the changes may have been
// parsed with another schema.
func (s *schema) unknown(changes Changes) (faults fault.Fields) {
	for name := range changes {
		if FieldNamed(name) == nil && s.customField(name) == nil {
			if faults == nil {
				faults = fault.Fields{}
			}
			faults[name] = unknownField
		}
	}
	return faults
}

var readOnly = fault.Field{Code: fault.CodeInvalidType, Message: "is read-only: omit it or send its current value"}

var unknownField = fault.Field{Code: fault.CodeUnknownField, Message: "is not a field of a contact"}

func textValue(value any) (string, *fault.Field) {
	switch v := value.(type) {
	case nil:
		return "", nil
	case string:
		return v, nil
	default:
		return "", &fault.Field{Code: fault.CodeInvalidType, Message: "must be a string or null"}
	}
}
