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

// Parameters has a function for each query parameter of a request, which reads its value into a T. The result is nil
// if the value is valid.
type Parameters[T any] map[string]func(into *T, value string) *fault.Field

// Read reads all parameters, and returns the invalid ones.
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
			if invalid := read(into, given[0]); invalid != nil {
				faults[name] = *invalid
			}
		}
	}
	return faults
}

// isForbiddenControl allows white space, which separates the words of a search.
func isForbiddenControl(r rune) bool { return unicode.IsControl(r) && !unicode.IsSpace(r) }

// Integer parses an integer that must not be below a minimum.
func Integer(s string, minimum int) (int, *fault.Field) {
	n, err := strconv.Atoi(s)
	if err != nil || n < minimum {
		return 0, &fault.Field{
			Code: fault.CodeInvalidValue, Message: fmt.Sprintf("must be an integer of at least %d", minimum),
		}
	}
	return n, nil
}
