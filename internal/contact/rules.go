package contact

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/pocketbase/ozzo-validation/v4/is"
	"golang.org/x/text/unicode/norm"

	"contactbase/internal/fault"
)

// These functions are the rules of the Fields. Each returns the value to store, or the errors in it.

func normalizeText(s string, limit int) (string, *fault.Field) {
	return limited(norm.NFC.String(trimmed(s)), limit)
}

func normalizeExternalID(s string, limit int) (string, *fault.Field) {
	return limited(trimmed(s), limit)
}

func normalizeEmail(s string, limit int) (string, *fault.Field) {
	s, wrong := limited(trimmed(s), limit)
	if wrong == nil && strings.ContainsFunc(s, func(r rune) bool { return unicode.Is(unicode.Cf, r) }) { // such as a zero-width space in a pasted address
		return s, &fault.Field{Code: fault.CodeInvalidEmail, Message: "contains an invisible character; type the address instead of pasting it"}
	}
	if wrong == nil && s != "" && (strings.HasSuffix(s, ".") || is.EmailFormat.Validate(s) != nil) {
		wrong = &fault.Field{Code: fault.CodeInvalidEmail, Message: "is not a valid email address, such as ada@example.com"}
	}
	return s, wrong
}

func limited(s string, limit int) (string, *fault.Field) {
	if !utf8.ValidString(s) {
		return s, &fault.Field{Code: fault.CodeInvalidCharacters, Message: "must be UTF-8"}
	}
	if strings.ContainsFunc(s, unicode.IsControl) {
		return s, &fault.Field{Code: fault.CodeInvalidCharacters, Message: "must not contain control characters such as line breaks"}
	}
	if utf8.RuneCountInString(s) > limit {
		return s, &fault.Field{Code: fault.CodeTooLong, Message: "must have at most " + strconv.Itoa(limit) + " characters"}
	}
	return s, nil
}
