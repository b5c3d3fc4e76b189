package sheet

import (
	"strings"

	"contactbase/internal/contact"
	"contactbase/internal/contact/names"
	"contactbase/internal/fault"
)

// Kind is a kind of findings about rows.
type Kind string

// The kinds of findings.
const (
	InvalidEmail Kind = "invalid_email"
	InvalidPhone Kind = "invalid_phone"
	InvalidValue Kind = "invalid_value" // of another field
	LeftOut      Kind = "left_out"      // a value that may be valid, such as the second one of a list
	NoIdentity   Kind = "no_identity"   // neither a name nor an email address
	SharedEmail  Kind = "shared_email"  // with an earlier row that is another contact, or with a stored one
	RepeatedID   Kind = "repeated_id"   // of an earlier row, or of another contact
	TooLong      Kind = "too_long"      // a value, a cell or the row
	BadCells     Kind = "cells"         // the row cannot be divided into the columns
)

// Warning is what a person should know about a row that is applied. Its kind is "" if no value is lost.
type Warning struct {
	Kind  Kind
	Field string // "" if it is about the row
	Text  string
}

// KindOf returns the kind of a value that does not fit, and its field, "" if the finding is about several ones.
func KindOf(field, code string) (kind Kind, of string) {
	switch {
	case code == fault.CodeRequired && (field == names.Name || field == contact.Email):
		return NoIdentity, ""
	case code == fault.CodeTooLong:
		return TooLong, field
	case code == fault.CodeDuplicateExternalID:
		return RepeatedID, field
	case field == contact.Email:
		return InvalidEmail, field
	case field == contact.Phone:
		return InvalidPhone, field
	default:
		return InvalidValue, field
	}
}

// KindOfRow returns the kind of a row that the reader refuses, by its reason: only one that is too long names a size.
func KindOfRow(reason string) Kind {
	if strings.Contains(reason, " KiB") {
		return TooLong
	}
	return BadCells
}
