package wire

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"contactbase/internal/fault"
)

// Parameters read the query parameters of a request into a T, by name. What they return is wrong with the parameter.
type Parameters[T any] map[string]func(into *T, value string) *fault.Field

// Read reads all of values and returns what is wrong with which of them.
func (p Parameters[T]) Read(into *T, values url.Values) fault.Fields {
	faults := fault.Fields{}
	for name, given := range values {
		read, known := p[name]
		switch {
		case !known:
			faults[name] = fault.Field{Code: fault.CodeUnknownParameter, Message: "is not a parameter of this request"}
		case len(given) > 1:
			faults[name] = fault.Field{Code: fault.CodeInvalidValue, Message: "must be given once"}
		case !utf8.ValidString(given[0]) || strings.ContainsFunc(given[0], isForbiddenControl):
			faults[name] = fault.Field{Code: fault.CodeInvalidCharacters, Message: "must be UTF-8 without control characters"}
		default:
			if wrong := read(into, given[0]); wrong != nil {
				faults[name] = *wrong
			}
		}
	}
	return faults
}

// isForbiddenControl lets white space through: it separates the words of a search.
func isForbiddenControl(r rune) bool { return unicode.IsControl(r) && !unicode.IsSpace(r) }

// Integer reads an integer of at least so much.
func Integer(s string, least int) (int, *fault.Field) {
	n, err := strconv.Atoi(s)
	if err != nil || n < least {
		return 0, &fault.Field{Code: fault.CodeInvalidValue, Message: fmt.Sprintf("must be an integer of at least %d", least)}
	}
	return n, nil
}
