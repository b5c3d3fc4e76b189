// Package custom handles the fields that an admin adds to the contacts, in PocketBase's types: which values callers
// may send, and how these are stored and shown. It knows fields and records, and no contacts.
package custom

import (
	"context"
	"errors"
	"fmt"
	"strings"

	validation "github.com/pocketbase/ozzo-validation/v4"
	"github.com/pocketbase/ozzo-validation/v4/is"
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/fault"
)

// Writable reports whether a caller may set the admin's field: files and automatic dates are only shown.
func Writable(field core.Field) bool {
	return field.Type() != core.FieldTypeFile && field.Type() != core.FieldTypeAutodate
}

// Set sets a field of a record as Record.Set does, which first asks all other fields for a setter.
func Set(record *core.Record, field core.Field, value any) {
	if finder, ok := field.(core.SetterFinder); ok {
		if set := finder.FindSetter(field.GetName()); set != nil {
			set(record, value)
			return
		}
	}
	prepared, _ := field.PrepareValue(record, value) // Record.Set ignores the error as well
	record.SetRaw(field.GetName(), prepared)
}

// Check returns PocketBase's verdict on the value of a record's field, nil if it is valid. It reads no database:
// PocketBase would do so for relations, which CheckRows checks, and for primary keys, which no admin adds.
func Check(field core.Field, record *core.Record) error {
	return field.ValidateValue(context.Background(), nil, record)
}

// IsGenerated reports whether a new record gets the value of a text field from PocketBase.
func IsGenerated(field core.Field, record *core.Record) bool {
	text, ok := field.(*core.TextField)
	return ok && text.AutogeneratePattern != "" && record.GetString(text.Name) == ""
}

// IsStamped reports whether PocketBase sets the field to the time of the write.
func IsStamped(field core.Field, isNew bool) bool {
	date, ok := field.(*core.AutodateField)
	return ok && (isNew && date.OnCreate || !isNew && date.OnUpdate)
}

// Column returns the value of a record's field as it is stored.
func Column(field core.Field, record *core.Record) (any, error) {
	valuer, ok := field.(core.DriverValuer)
	if !ok {
		return record.GetRaw(field.GetName()), nil
	}
	value, err := valuer.DriverValue(record)
	if err != nil {
		return nil, fmt.Errorf("storing the field %q: %w", field.GetName(), err)
	}
	return value, nil
}

// Fault returns PocketBase's verdict on an admin's field with a code of this API.
func Fault(err error) fault.Field {
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
