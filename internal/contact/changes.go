package contact

import (
	"slices"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact/custom"
	"contactbase/internal/fault"
)

// Changes are the fields that a caller sets, normalised: text for the shipped fields, what the record takes for the
// custom fields. Empty text and nil clear a field. For a field that callers cannot write it is what they sent, which must be the
// value that the field has.
type Changes map[string]any

// CausedBy marks the changes as the result of another installation's event: what they emit keeps that event's id, by
// which a circle of installations comes to rest.
func (c Changes) CausedBy(eventID string) Changes {
	c[causeField] = eventID
	return c
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
	var record *core.Record // that has the values checked
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
		if !custom.Writable(field) {
			changes[name] = value
			continue
		}
		if record == nil {
			record = core.NewRecord(s.collection)
		}
		parsed, wrong := custom.Value(field, value)
		if wrong == nil {
			wrong = checkValue(record, field, parsed)
		}
		if wrong != nil {
			faults[name] = *wrong
		}
		changes[name] = parsed
	}
	if len(faults) > 0 {
		return nil, faults
	}
	return changes, nil
}

// checkValue returns what is wrong with a value, for any contact. A relation is left for the transaction, so that the time of an
// answer does not tell whether a row is another tenant's or nobody's.
func checkValue(record *core.Record, field core.Field, value any) *fault.Field {
	custom.Set(record, field, value)
	if field.Type() == core.FieldTypeRelation || custom.IsGenerated(field, record) {
		return nil
	}
	wrong := custom.Check(field, record)
	if wrong == nil {
		return nil
	}
	told := custom.Fault(wrong)
	return &told
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

// nameOrEmail is what is wrong with a contact that has neither.
func nameOrEmail() fault.Fields {
	wrong := fault.Field{Code: fault.CodeRequired, Message: "name or email must be present"}
	return fault.Fields{"name": wrong, "email": wrong}
}
