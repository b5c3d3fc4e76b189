package payload

import (
	"cmp"
	"encoding/json"
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

// proposal is a suggested mapping.
type proposal struct {
	Items  string         `json:"items,omitempty"`
	Fields map[string]any `json:"fields"`
}

// text returns the mapping as JSON, "" if it is too long.
func (p *proposal) text() string {
	var text strings.Builder
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(p); err != nil || text.Len() > suggestBytes {
		return ""
	}
	return strings.TrimSpace(text.String())
}

// suggestion returns a mapping as JSON for a payload without recognized names: the paths in the first part with an
// email address, "" if none.
func suggestion(root any) string {
	if found := suggest(newWork(), root, nil, suggestDepth); found != nil {
		return found.text()
	}
	return ""
}

// suggest returns the paths of the fields in the first part of a value that has an email address, nil if there is none.
func suggest(w *work, v any, at []string, depth int) *proposal {
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
			if found := suggestAnswers(w, v, at); found != nil {
				return found
			}
		}
		return suggestElements(w, v, at, depth)
	case map[string]any:
		return suggestObject(w, v, at, depth)
	}
	return nil
}

// suggestElements is suggest for a list, which may have several contacts. The first element stands for all.
func suggestElements(w *work, list []any, at []string, depth int) *proposal {
	if len(list) == 0 {
		return nil
	}
	if _, isObject := list[0].(map[string]any); !isObject {
		return suggest(w, list[0], below(at, "0"), depth-1)
	}
	found := suggest(w, list[0], nil, depth-1)
	if found == nil {
		return nil
	}
	items := strings.Join(at, ".")
	if found.Items != "" {
		items += ".#." + found.Items + "|@flatten"
	}
	return &proposal{Items: items, Fields: found.Fields}
}

// suggestObject is suggest for an object: a form with numbered questions, one as Typeform sends it, a contact, or an
// object that contains one.
func suggestObject(w *work, obj map[string]any, at []string, depth int) *proposal {
	labels, ok := w.sorted(obj)
	if !ok || !w.spend(16*len(labels)) {
		return nil
	}
	if all, _ := values(w, obj); isForm(asList(all)) {
		return suggestAnswers(w, all, below(at, "@values"))
	}
	if asList(obj["answers"]) != nil {
		if found := suggestAnswers(w, obj, at); found != nil {
			return found
		}
	}
	if fields := namesIn(obj, labels, at); fields[names.Email] != nil {
		found := &proposal{Fields: fields}
		found.addDetails(w, obj, labels, at)
		return found
	}
	isAside := func(label string) int {
		if names.IsAside(label) {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(labels, func(a, b string) int { return cmp.Compare(isAside(a), isAside(b)) })
	for _, label := range labels {
		if found := suggest(w, obj[label], below(at, escaped(label)), depth-1); found != nil {
			return found
		}
	}
	return nil
}

// namesIn returns the paths of the fields in an object, by common names.
func namesIn(obj map[string]any, labels, at []string) map[string]any {
	paths := map[string]string{}
	for field, group := range byField(labels) {
		for _, i := range slices.Backward(group) {
			value := obj[labels[i]]
			if within, ok := leaf(field, value); ok {
				paths[field] = strings.Join(below(at, append([]string{escaped(labels[i])}, within...)...), ".")
			} else if text, _ := valueOf(field, value); text != nil {
				paths[field] = strings.Join(below(at, "@answer:"+field), ".")
			}
		}
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

// addDetails adds what is only in a property beside the email address, such as "fields".
func (p *proposal) addDetails(w *work, obj map[string]any, labels, at []string) {
	for _, label := range labels {
		list, isList := obj[label].([]any)
		var f filledForm
		if !slices.Contains(details, names.Fold(label)) || isList && !isForm(list) || !f.read(w, obj[label]) {
			continue
		}
		for _, field := range []string{names.Name, names.Phone, names.Company} {
			if text, _ := f.answerTo(field); text != "" && p.Fields[field] == nil {
				p.Fields[field] = strings.Join(below(at, escaped(label), "@answer:"+field), ".")
			}
		}
	}
}

// suggestAnswers returns the paths of the answers in a form, nil without an email address.
func suggestAnswers(w *work, form any, at []string) *proposal {
	var f filledForm
	if !f.read(w, form) {
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
	return &proposal{Fields: fields}
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
		whole, _ := valueOf(field, v)
		for _, p := range placesOf(field, v) {
			if text, _ := scalar(p.value); text != nil && text == whole {
				return []string{escaped(p.name)}, true
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
