package payload

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"

	"contactbase/internal/contact/names"
)

// Limits of a suggestion: senders nest a contact only a few levels deep, and nobody copies a long mapping.
const (
	suggestDepth = 6
	suggestBytes = 500
)

// suggestion returns a mapping as JSON for a payload without recognized names: the paths in the first part with an email address, "" if none.
func suggestion(root any) string {
	fields := suggest(newWork(), root, nil, suggestDepth)
	if fields == nil {
		return ""
	}
	var text strings.Builder
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(map[string]any{"fields": fields}); err != nil || text.Len() > suggestBytes {
		return ""
	}
	return strings.TrimSpace(text.String())
}

// suggest returns the paths of the fields in the first part of a value that has an email address, nil if there is none.
func suggest(w *work, v any, at []string, depth int) map[string]any {
	if depth == 0 || !w.spend(4) {
		return nil
	}
	switch v := v.(type) {
	case string:
		if inner, ok := unpack(w, v); ok && looksLikeJSON([]byte(v)) {
			return suggest(w, inner, below(at, "@fromstr"), depth-1)
		}
	case []any:
		if isForm(v) {
			return suggestAnswers(w, v, at)
		}
		if len(v) > 0 {
			return suggest(w, v[0], below(at, "0"), depth-1)
		}
	case map[string]any:
		return suggestObject(w, v, at, depth)
	}
	return nil
}

// suggestObject is suggest for an object: a form with numbered questions, a contact, or an object that contains one.
func suggestObject(w *work, obj map[string]any, at []string, depth int) map[string]any {
	labels, ok := w.sorted(obj)
	if !ok || !w.spend(16*len(labels)) {
		return nil
	}
	if all, _ := values(w, obj); isForm(asList(all)) {
		return suggestAnswers(w, asList(all), below(at, "@values"))
	}
	if fields := suggestNames(obj, labels, at); fields != nil {
		return fields
	}
	for _, label := range labels {
		if fields := suggest(w, obj[label], below(at, escaped(label)), depth-1); fields != nil {
			return fields
		}
	}
	return nil
}

// suggestNames returns the paths of the fields in an object, nil without an email address.
func suggestNames(obj map[string]any, labels, at []string) map[string]any {
	paths := map[string]string{}
	for field, group := range byField(labels) {
		for _, i := range slices.Backward(group) {
			if within, ok := leaf(field, obj[labels[i]]); ok {
				paths[field] = strings.Join(below(at, append([]string{escaped(labels[i])}, within...)...), ".")
			}
		}
	}
	if paths[names.Email] == "" {
		return nil
	}
	fields := map[string]any{}
	var halves []string
	for _, half := range names.Halves {
		if paths[half] != "" {
			halves = append(halves, paths[half])
		}
		delete(paths, half)
	}
	for field, path := range paths {
		fields[field] = path
	}
	switch {
	case len(halves) > 1:
		fields[names.Name] = map[string]any{"join": halves}
	case len(halves) == 1 && paths[names.Name] == "":
		fields[names.Name] = halves[0]
	}
	return fields
}

// suggestAnswers returns the paths of the answers in a form, nil without an email address.
func suggestAnswers(w *work, list []any, at []string) map[string]any {
	var f filledForm
	if !f.read(w, list) {
		return nil
	}
	fields := map[string]any{}
	for _, field := range []string{names.Email, names.Name, names.Phone, names.Company} {
		if text, _ := f.answerTo(field); text != "" {
			fields[field] = strings.Join(below(at, "@answer:"+field), ".")
		}
	}
	if fields[names.Email] == nil {
		return nil
	}
	return fields
}

func asList(v any) []any {
	list, _ := v.([]any)
	return list
}

// leaf returns the path from a value to the text in it for a field, and whether there is one.
func leaf(field string, v any) (path []string, ok bool) {
	switch v := v.(type) {
	case []any:
		if len(v) > 0 {
			path, ok = leaf(field, v[0])
		}
		return append([]string{"0"}, path...), ok
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if text, _ := scalar(v[key]); text != nil && (key == "value" || names.Of(key).Field == field) {
				return []string{escaped(key)}, true
			}
		}
		return nil, false
	}
	text, _ := scalar(v)
	return nil, text != nil
}

// below returns a longer path, which shares no memory with the shorter one.
func below(at []string, parts ...string) []string { return slices.Concat(at, parts) }

var special = regexp.MustCompile(`[^\pL\pN_ -]`)

// escaped returns a name as a part of a path.
func escaped(name string) string { return special.ReplaceAllString(name, `\$0`) }
