package payload

import (
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cast"

	"contactbase/internal/contact"
	"contactbase/internal/fault"
)

// scalar returns the trimmed text of a value, nil for no value, or the errors in it.
func scalar(v any) (any, *fault.Field) {
	switch v := v.(type) {
	case nil:
		return nil, nil
	case string:
		return textOf(v)
	case bool, json.Number:
		return textOf(cast.ToString(v))
	}
	return nil, &fault.Field{Code: fault.CodeInvalidType, Message: "must be text, a number, true, false or null"}
}

// custom returns what may be the value of a custom field: a list or an object as it is, and otherwise what scalar returns.
func custom(v any) (any, *fault.Field) {
	switch v.(type) {
	case []any, map[string]any:
		return v, nil
	}
	return scalar(v)
}

func textOf(s string) (any, *fault.Field) {
	s = strings.TrimSpace(s)
	if len(s) > maxValue {
		return nil, &fault.Field{Code: fault.CodeTooLong, Message: "must have at most " + strconv.Itoa(maxValue) + " bytes"}
	}
	if s == "" {
		return nil, nil
	}
	return s, nil
}

// actionOf recognises the two actions that senders know, in any case. Other text is only truncated, for a message.
func actionOf(v any) contact.Action {
	text, ok := v.(string)
	if !ok {
		return contact.Upsert
	}
	if a := contact.Action(strings.ToLower(text)); a == contact.Upsert || a == contact.Delete {
		return a
	}
	return contact.Action(shorten(text))
}

// IgnoredWarning returns the warning about unknown properties.
func IgnoredWarning(names []string) string { return "ignored: " + some(names) }

// MissingWarning returns the warning about fields whose paths find nothing.
func MissingWarning(names []string) string { return findsNothing + some(names) }

const findsNothing = "the mapping finds nothing for "

// some lists a few names for a sentence: a sender may post thousands of them with every request.
func some(names []string) string {
	const most, mostBytes = 10, 250
	var b strings.Builder
	for i, name := range names {
		quoted := strconv.Quote(shorten(name))
		if i == most || i > 0 && b.Len()+len(quoted) > mostBytes {
			return b.String() + " … and " + strconv.Itoa(len(names)-i) + " more"
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(quoted)
	}
	return b.String()
}

// shorten truncates a sender's text for a message, at a character's boundary.
func shorten(s string) string {
	const most = 64
	if len(s) <= most {
		return s
	}
	cut := most
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "…"
}
