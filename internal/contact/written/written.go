// Package written knows how people and other programs write texts that do not mean what they say: words for no value,
// placeholders that nothing has filled, numbers of orders for names, and the escapes of HTML. A text of the REST API is
// what it says.
package written

import (
	"html"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"contactbase/internal/contact/names"
)

// noValues are the words of other programs for no value. Case counts: Null and None are names of people.
var noValues = []string{
	"NULL", "null", `\N`, "N/A", "n/a", "#N/A", "nan", "NaN", "None", "none", "undefined", "(null)", "[object Object]",
	"-", "--",
}

// maxPlaceholders is the maximum length of placeholders in bytes.
const maxPlaceholders = 300

// IsNoValue reports whether a text says that there is no value: a word for it, or nothing but placeholders.
func IsNoValue(text string) bool {
	text = strings.TrimSpace(text)
	return slices.Contains(noValues, text) || len(text) <= maxPlaceholders && isPlaceholders(text)
}

// marks are around a placeholder. Only the first ones need no name of a field between them: companies have others.
var marks = []struct{ begin, end string }{{"{{", "}}"}, {"{", "}"}, {"[", "]"}, {"%", "%"}, {"‹", "›"}}

// isPlaceholders reports whether a text consists of placeholders, such as "{{first_name}} {{last_name}}".
func isPlaceholders(text string) bool {
	if text == "" {
		return false
	}
	for text != "" {
		length := placeholderLength(text)
		if length == 0 {
			return false
		}
		text = strings.TrimSpace(text[length:])
	}
	return true
}

// placeholderLength returns the length of the placeholder with which a text begins, 0 if it begins with none.
func placeholderLength(text string) int {
	for i, mark := range marks {
		inner, begins := strings.CutPrefix(text, mark.begin)
		end := strings.Index(inner, mark.end)
		if begins && end > 0 && (i == 0 || isFieldName(inner[:end])) {
			length := len(mark.begin) + end + len(mark.end)
			for i == 0 && length < len(text) && text[length] == '}' { // as in "{{{name}}}"
				length++
			}
			return length
		}
	}
	return 0
}

func isFieldName(text string) bool { return names.Known(text) || names.IsID(text) }

// order is the number of an order or a ticket, such as "#1001" and "#SO-1001".
var order = regexp.MustCompile(`^#\s?(?:[A-Za-z]{0,8}[-_/.]?)?[0-9][0-9A-Za-z/._-]*$`)

// IsOrder reports whether a text is the number of an order or a ticket, which other programs call its name.
func IsOrder(text string) bool {
	return len(text) <= maxQuoted && order.MatchString(strings.TrimSpace(text))
}

// entity is an escape of HTML. Those without a semicolon, which browsers also know, are parts of names: "R&D".
var entity = regexp.MustCompile(`&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});`)

// Unescape returns a text without the escapes of HTML, each of which it replaces once.
func Unescape(text string) string {
	if !strings.Contains(text, "&") {
		return text
	}
	return entity.ReplaceAllStringFunc(text, func(escape string) string {
		plain := html.UnescapeString(escape)
		if strings.HasSuffix(plain, ";") && plain != ";" { // such as "&notes;", in which only "&not" is known
			return escape
		}
		return plain
	})
}

// maxQuoted is the maximum length of a value in a message, in characters.
const maxQuoted = 100

// Quote returns a value for a message: in quotation marks, and cut if it is long.
func Quote(value string) string {
	if utf8.RuneCountInString(value) > maxQuoted {
		value = string([]rune(value)[:maxQuoted-1]) + "…"
	}
	return strconv.Quote(value)
}

// Lost returns the warning that a name or a company has only a text for no value.
func Lost(field, text string) string {
	if IsOrder(text) {
		return field + ": " + Quote(text) + " is left out: it is the number of an order"
	}
	return field + ": " + Quote(text) + " is left out: it is a placeholder or a word for no value"
}
