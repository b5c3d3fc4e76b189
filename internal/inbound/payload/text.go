package payload

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"contactbase/internal/contact"
	"contactbase/internal/contact/written"
	"contactbase/internal/fault"
)

// scalar returns the trimmed text of a value, nil for no value, or the errors in it. False is another word for null,
// and a list with one value is that value.
func scalar(v any) (any, *fault.Field) {
	switch v := v.(type) {
	case nil:
		return nil, nil
	case string:
		return textOf(v)
	case bool:
		if !v {
			return nil, nil
		}
		return textOf("true")
	case json.Number:
		return textOf(v.String())
	case []any:
		if len(v) == 1 {
			return scalar(v[0])
		}
	}
	return nil, &fault.Field{Code: fault.CodeInvalidType, Message: "must be text, a number, true, false or null"}
}

// custom returns what may be the value of a custom field: a text as scalar returns it, and anything else as it is.
func custom(v any) (any, *fault.Field) {
	switch text := v.(type) {
	case string:
		return textOf(text)
	case json.Number:
		_, wrong := textOf(text.String())
		return v, wrong
	}
	return v, nil
}

// isBlank reports whether a value is an empty text, or a list with one.
func isBlank(v any) bool {
	if list, ok := v.([]any); ok && len(list) == 1 {
		v = list[0]
	}
	text, ok := v.(string)
	return ok && strings.TrimSpace(text) == ""
}

// isNoValue reports whether a text, as scalar returns it, says that there is no value.
func isNoValue(v any) bool {
	text, _ := v.(string)
	return written.IsNoValue(text)
}

// isUnfilled reports whether an object has no values, as from a template that found nothing to fill in.
func isUnfilled(root any) bool {
	obj, _ := root.(map[string]any)
	for _, v := range obj {
		if text, isText := v.(string); v != nil && (!isText || strings.TrimSpace(text) != "") && !isNoValue(v) {
			return false
		}
	}
	return len(obj) > 0
}

// isOrder reports whether a text is the number of an order, which is not a person's name.
func isOrder(v any) bool {
	text, _ := v.(string)
	return written.IsOrder(text)
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

// inLine returns a text in one line: line breaks and tabs become spaces.
func inLine(text string) string {
	isBreak := func(r rune) bool { return strings.ContainsRune("\t\n\v\f\r\u0085\u2028\u2029", r) }
	return strings.Join(strings.FieldsFunc(text, isBreak), " ")
}

// actionOf recognizes the two actions that senders know, in any case. Other text is only truncated, for a message.
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

// MissingWarning returns the warning about paths that find nothing. An element names a field and its paths.
func MissingWarning(missing []string) string {
	return "the mapping finds nothing for " + few(missing, "; ", 600, 0)
}

// receivedNote returns the sentence about what a refused request has instead, "" if it has no properties.
func receivedNote(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return " The request has: " + some(names) + "."
}

// some lists a few names for a sentence: a sender may post thousands of them with every request.
func some(names []string) string {
	quoted := make([]string, min(len(names), mostNames))
	for i := range quoted {
		quoted[i] = strconv.Quote(shorten(names[i]))
	}
	return few(quoted, ", ", 250, len(names)-len(quoted))
}

const mostNames = 10

// few joins the first texts, and says how many more there are.
func few(texts []string, separator string, mostBytes, more int) string {
	var b strings.Builder
	for i, text := range texts {
		if i == mostNames || i > 0 && b.Len()+len(text) > mostBytes {
			more += len(texts) - i
			break
		}
		if i > 0 {
			b.WriteString(separator)
		}
		b.WriteString(text)
	}
	if more > 0 {
		return b.String() + " … and " + strconv.Itoa(more) + " more"
	}
	return b.String()
}

// shorten truncates a sender's text for a message.
func shorten(s string) string { return cut(s, 64) }

// cut truncates a text at a character's boundary.
func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	end := most
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + "…"
}

// arrived returns the names of a few properties of a payload, for the admin who maps them. It looks into objects, and
// into the first element of a list.
func arrived(root any) []string {
	if list, ok := root.([]any); ok && len(list) > 0 {
		root = list[0]
	}
	return addNames(nil, "", root)
}

// addNames adds the names of an object's properties until there are enough.
func addNames(found []string, prefix string, v any) []string {
	obj, _ := v.(map[string]any)
	for _, name := range firstNames(obj) {
		if len(found) > mostNames {
			break
		}
		name, inner := prefix+name, obj[name]
		if _, isObject := inner.(map[string]any); isObject && strings.Count(name, ".") < 3 {
			found = addNames(found, name+".", inner)
		} else {
			found = append(found, name)
		}
	}
	return found
}

// firstNames returns the first names of an object in their order. It does not sort the others, of which there may be
// tens of thousands.
func firstNames(obj map[string]any) []string {
	var first []string
	for name := range obj {
		if at, _ := slices.BinarySearch(first, name); at <= mostNames {
			first = slices.Insert(first, at, name)
			first = first[:min(len(first), mostNames+1)]
		}
	}
	return first
}
