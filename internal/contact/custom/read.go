package custom

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/mail"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/pocketbase/pocketbase/core"
	"golang.org/x/text/unicode/norm"

	"contactbase/internal/contact/written"
	"contactbase/internal/fault"
	"contactbase/internal/wire"
)

// Reading is what a value of other programs has for an admin's field.
type Reading struct {
	Value any          // as a caller of the API would send it; nil for no value
	Left  string       // the part that does not fit and is left out
	Wrong *fault.Field // why it does not fit
}

// ReadJSON returns what decoded JSON has for a field. What has the JSON type of the field stays as it is; a text is
// read as Read does. Numbers are json.Number.
func ReadJSON(field core.Field, value any, style Style) Reading {
	if field.Type() == core.FieldTypeJSON {
		return Reading{Value: value}
	}
	switch v := value.(type) {
	case nil:
		return Reading{}
	case bool:
		switch {
		case field.Type() == core.FieldTypeBool:
			return Reading{Value: v}
		case !v && field.Type() != core.FieldTypeNumber: // false is another word for null
			return Reading{}
		}
		return Read(field, strconv.FormatBool(v), style)
	case json.Number:
		if field.Type() == core.FieldTypeNumber {
			return Reading{Value: v}
		}
		return Read(field, v.String(), style)
	case string:
		return Read(field, v, style)
	case []any:
		if _, isSelect := field.(*core.SelectField); isSelect && isList(field) {
			return readChoices(field, v)
		}
		if len(v) == 1 && !isList(field) {
			return ReadJSON(field, v[0], style)
		}
	}
	if _, wrong := Value(field, value); wrong == nil {
		return Reading{Value: value}
	}
	left, _ := wire.AppendJSON(nil, value)
	return Reading{Left: string(left), Wrong: unfit("is a list or an object, and not one value")}
}

// Read returns what a text that people or other programs write has for a field.
func Read(field core.Field, text string, style Style) Reading {
	if isText(field) {
		return Reading{Value: text}
	}
	trimmed := strings.TrimSpace(text)
	if trimmed == "" || style&exact == 0 && IsNoValue(field, trimmed) {
		return Reading{}
	}
	value, why := any(trimmed), ""
	switch field.Type() {
	case core.FieldTypeJSON:
		value = text
		if decoded, ok := decode(trimmed); ok {
			value = decoded
		}
	case core.FieldTypeGeoPoint:
		point, _ := decode(trimmed)
		if object, ok := point.(map[string]any); !ok || !isGeoPoint(object) {
			why = `is not a point, such as {"lon":13.4,"lat":52.5}`
		}
		value = point
	case core.FieldTypeNumber:
		value, why = numberIn(trimmed, style)
	case core.FieldTypeBool:
		value, why = boolIn(trimmed)
	case core.FieldTypeDate:
		value, why = dateIn(trimmed, style)
	case core.FieldTypeEmail:
		if style&exact == 0 {
			return readEmail(trimmed)
		}
	case core.FieldTypeURL:
		value = urlIn(trimmed, style)
	case core.FieldTypeSelect:
		return readChoice(field, text)
	default:
		if isList(field) {
			return Reading{Value: listIn(trimmed)}
		}
	}
	if why != "" {
		return Reading{Left: trimmed, Wrong: unfit(why)}
	}
	return Reading{Value: value}
}

// IsNoValue reports whether a text of other programs is a word for no value, and not a value of the field.
func IsNoValue(field core.Field, text string) bool {
	if isText(field) || field.Type() == core.FieldTypeJSON || !written.IsNoValue(text) {
		return false
	}
	_, isChoice := offersOf(field).choice(text)
	return !isChoice
}

func unfit(why string) *fault.Field {
	return &fault.Field{Code: fault.CodeInvalidType, Message: why}
}

// isText reports whether white space around a value of the field is a part of it.
func isText(field core.Field) bool {
	return field.Type() == core.FieldTypeText || field.Type() == core.FieldTypeEditor
}

func isList(field core.Field) bool {
	multiple, ok := field.(core.MultiValuer)
	return ok && multiple.IsMultiple()
}

// decode returns the value of a JSON text, and whether the text is JSON.
func decode(text string) (value any, ok bool) {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	if decoder.Decode(&value) != nil {
		return nil, false
	}
	_, err := decoder.Token()
	return value, errors.Is(err, io.EOF)
}

// listIn returns the list in a JSON text, and a list of any other text.
func listIn(text string) []any {
	if decoded, ok := decode(text); ok {
		if list, ok := decoded.([]any); ok {
			return list
		}
	}
	return []any{text}
}

// The words for yes and no, folded, in English, German, French, Spanish, Italian, Portuguese and Dutch.
//
//nolint:misspell // most words are not English
var (
	yes = strings.Fields("yes y true t on 1 x ✓ ✔ ☑ ✅ checked " +
		"ja j wahr oui o vrai si s verdadero vero sim verdadeiro waar")
	no = strings.Fields("no n false f off 0 ✗ ✘ ☐ ☒ unchecked nein falsch non faux falso nao nee onwaar")
)

func boolIn(text string) (any, string) {
	folded := fold(text)
	switch {
	case slices.Contains(yes, folded):
		return true, ""
	case slices.Contains(no, folded):
		return false, ""
	}
	return nil, "is neither yes nor no"
}

// urlIn returns an address with a scheme: that of the web for a host without one.
func urlIn(text string, style Style) string {
	host, _, _ := strings.Cut(text, "/")
	if style&exact != 0 || !strings.Contains(host, ".") || strings.ContainsAny(host, " @") ||
		strings.Contains(text, "://") {
		return text
	}
	return "https://" + text
}

// readEmail reads the first address of a list of those such as Ann <ann@example.com>.
func readEmail(text string) Reading {
	const scheme = "mailto:"
	if len(text) > len(scheme) && strings.EqualFold(text[:len(scheme)], scheme) {
		text = text[len(scheme):]
	}
	list, err := mail.ParseAddressList(strings.Trim(strings.ReplaceAll(text, ";", ","), ", "))
	if err != nil {
		return Reading{Value: text} // the field says what is wrong
	}
	read := Reading{Value: list[0].Address}
	if len(list) > 1 {
		read.Left, read.Wrong = text, unfit("has several addresses, of which one is read")
	}
	return read
}

// fold returns a text without the differences that do not count in a choice: case, accents and repeated white space.
func fold(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return unicode.ToLower(r)
	}, norm.NFD.String(text))
	return strings.Join(strings.Fields(text), " ")
}

// offers are the choices of a field. It folds them once, however many texts it compares with them.
type offers struct {
	values []string
	folded map[string]string // "" for one that is not the only one; nil until it is needed
}

// offersOf returns the choices of a field, none if it is not a select field.
func offersOf(field core.Field) *offers {
	if choices, ok := field.(*core.SelectField); ok {
		return &offers{values: choices.Values}
	}
	return &offers{}
}

// choice returns the choice that a text names, and whether it names exactly one.
func (o *offers) choice(text string) (choice string, ok bool) {
	if slices.Contains(o.values, text) {
		return text, true
	}
	if trimmed := strings.TrimSpace(text); slices.Contains(o.values, trimmed) {
		return trimmed, true
	}
	if o.folded == nil {
		o.folded = make(map[string]string, len(o.values))
		for _, value := range o.values {
			folded := fold(value)
			if _, isTwice := o.folded[folded]; isTwice {
				value = ""
			}
			o.folded[folded] = value
		}
	}
	choice = o.folded[fold(text)]
	return choice, choice != ""
}

// readChoice reads the choices in a text: one, or several in JSON or between separators.
func readChoice(field core.Field, text string) Reading {
	decoded, _ := decode(strings.TrimSpace(text))
	list, isJSON := decoded.([]any)
	offered := offersOf(field)
	choice, ok := offered.choice(text)
	switch {
	case isList(field) && isJSON:
		return readChoices(field, list)
	case ok && isList(field):
		return Reading{Value: []any{choice}}
	case isList(field):
		return readChoices(field, offered.split(text))
	case !ok && len(list) == 1:
		choice, ok = offered.choice(fmt.Sprint(list[0]))
	}
	if !ok {
		return Reading{Left: text, Wrong: noChoice(field)}
	}
	return Reading{Value: choice}
}

// maxChoices is how many choices of a list are read at most.
const maxChoices = 1_000

// separators stand between choices. The last ones count if none of the others leaves only choices between them: a
// choice may contain a separator.
var separators = []string{"\n", ";", "|", ",", "\n;|,"}

// split returns the parts of a list of choices.
func (o *offers) split(text string) (parts []any) {
	for i, set := range separators {
		parts = nil
		fits := true
		for part := range strings.FieldsFuncSeq(text, func(r rune) bool { return strings.ContainsRune(set, r) }) {
			if part = strings.TrimSpace(part); part == "" {
				continue
			}
			_, fits = o.choice(part)
			parts = append(parts, part)
			if !fits && i < len(separators)-1 || len(parts) == maxChoices {
				break
			}
		}
		if fits && len(parts) > 0 {
			break
		}
	}
	return parts
}

// readChoices reads a list of choices. Those that the field does not offer are left out.
func readChoices(field core.Field, list []any) (found Reading) {
	chosen, left, offered := []any{}, []string{}, offersOf(field)
	for _, el := range list[:min(len(list), maxChoices)] {
		choice, ok := offered.choice(fmt.Sprint(el))
		switch {
		case !ok:
			left = append(left, fmt.Sprint(el))
		case !slices.Contains(chosen, any(choice)):
			chosen = append(chosen, choice)
		}
	}
	if len(chosen) > 0 || len(list) == 0 {
		found.Value = chosen
	}
	if len(left) > 0 {
		found.Left, found.Wrong = strings.Join(left, ", "), noChoice(field)
	}
	return found
}

// maxOffered is how many choices a message names.
const maxOffered = 10

func noChoice(field core.Field) *fault.Field {
	values := field.(*core.SelectField).Values //nolint:forcetypeassert // only such fields have choices
	offered := strings.Join(values[:min(len(values), maxOffered)], ", ")
	if len(values) > maxOffered {
		offered += ", …"
	}
	return unfit("must be one of " + offered)
}
