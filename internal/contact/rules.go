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
	// such as a zero-width space in a pasted address
	if wrong == nil && strings.ContainsFunc(s, func(r rune) bool { return unicode.Is(unicode.Cf, r) }) {
		return s, &fault.Field{Code: fault.CodeInvalidEmail, Message: "contains an invisible character; " +
			"type the address instead of pasting it"}
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
		return s, &fault.Field{
			Code: fault.CodeInvalidCharacters, Message: "must not contain control characters such as line breaks",
		}
	}
	if utf8.RuneCountInString(s) > limit {
		return s, &fault.Field{Code: fault.CodeTooLong, Message: "must have at most " + strconv.Itoa(limit) + " characters"}
	}
	return s, nil
}

// These functions are the filters of the Fields. Each returns the value to look for, or the errors in the parameter.

func filterEmail(s string) (string, *fault.Field) {
	return strings.ReplaceAll(trimmed(s), " ", "+"), notEmpty(s) // a plus sign that was not encoded arrives as a space
}

func filterCompany(s string) (string, *fault.Field) { return norm.NFC.String(trimmed(s)), notEmpty(s) }

func filterExternalID(s string) (string, *fault.Field) { return trimmed(s), notEmpty(s) }

func filterPhone(s string) (string, *fault.Field) {
	// a plus sign that was not encoded arrives as a space
	digits := withoutPlainTrunkZero(withoutTrunkZero("+" + strings.TrimPrefix(plainPhone(s), "+")))
	if !phonePattern.MatchString(digits) {
		return digits, &fault.Field{Code: fault.CodeInvalidPhone, Message: "must be in international format, " +
			"such as +4930123456 (a plus sign is %2B in a URL)"}
	}
	return digits, nil
}

func notEmpty(s string) *fault.Field {
	if trimmed(s) == "" {
		return &fault.Field{Code: fault.CodeInvalidValue, Message: "must not be empty; leave the parameter out to list all"}
	}
	return nil
}

// blank are characters that Unicode counts as letters, marks or symbols although they are invisible.
var blank = &unicode.RangeTable{
	R16: []unicode.Range16{{Lo: 0x2800, Hi: 0x2800, Stride: 1}}, // the braille pattern without dots
	R32: []unicode.Range32{
		{Lo: 0x13441, Hi: 0x13442, Stride: 1}, // the blanks of hieroglyphs
		{Lo: 0x16FE4, Hi: 0x16FE4, Stride: 1}, // the filler of the Khitan small script
		{Lo: 0x1D159, Hi: 0x1D159, Stride: 1}, // the null notehead
	},
}

// isVisible reports whether a reader sees the character. A control character counts as visible: the rules refuse it.
func isVisible(r rune) bool {
	if r < utf8.RuneSelf {
		return r != ' '
	}
	if unicode.Is(unicode.Prepended_Concatenation_Mark, r) { // a sign below or around the digits that follow it
		return true
	}
	return !unicode.In(r, unicode.Z, unicode.Cf, unicode.Variation_Selector,
		unicode.Other_Default_Ignorable_Code_Point, blank)
}

// trimmed returns the text without white space around it, or "" if nothing in it is visible.
func trimmed(s string) string {
	s = strings.TrimSpace(s)
	if !strings.ContainsFunc(s, isVisible) {
		return ""
	}
	return s
}
