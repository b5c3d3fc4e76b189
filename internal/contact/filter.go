package contact

import (
	"strings"

	"golang.org/x/text/unicode/norm"

	"contactbase/internal/fault"
)

// These functions are the filters of the Fields. Each returns the value to look for, or the errors in the parameter.

func filterEmail(s string) (string, *fault.Field) {
	return strings.ReplaceAll(trimmed(s), " ", "+"), notEmpty(s) // a plus sign that was not encoded arrives as a space
}

func filterCompany(s string) (string, *fault.Field) { return norm.NFC.String(trimmed(s)), notEmpty(s) }

func filterExternalID(s string) (string, *fault.Field) { return trimmed(s), notEmpty(s) }

func filterPhone(s string) (string, *fault.Field) {
	// a plus sign that was not encoded arrives as a space
	digits := withoutTrunkZero("+" + strings.TrimPrefix(plainPhone(s), "+"))
	if !phonePattern.MatchString(digits) {
		return digits, &fault.Field{Code: fault.CodeInvalidPhone, Message: "must be in international format, such as +4930123456 (a plus sign is %2B in a URL)"}
	}
	return digits, nil
}

func notEmpty(s string) *fault.Field {
	if trimmed(s) == "" {
		return &fault.Field{Code: fault.CodeInvalidValue, Message: "must not be empty; leave the parameter out to list all"}
	}
	return nil
}
