package contact

import (
	"maps"
	"slices"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/fault"
)

// Changes are the fields that a caller sets, normalised: text for the shipped fields, what the record takes for the
// custom fields. Empty text and nil clear a field. For a field that callers cannot write it is what they sent, which must be the
// value that the field has.
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
			changes[name] = value
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

var readOnly = fault.Field{Code: CodeInvalidType, Message: "is read-only: omit it or send its current value"}

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

// apply sets the changes on the record and checks what only the whole contact can tell.
func (s *schema) apply(app core.App, record *core.Record, changes Changes) error {
	faults := fault.Fields{}
	for name, value := range changes {
		if field := s.customField(name); field == nil || writable(field) {
			record.Set(name, value)
		} else if !sameValue(shown(record.Get(name)), shown(value)) {
			faults[name] = readOnly
		}
	}
	if record.GetString("name") == "" && record.GetString("email") == "" {
		maps.Copy(faults, nameOrEmail())
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
