package payload

import (
	"slices"
	"strings"

	"contactbase/internal/contact"
)

// plainItem reads an object by common names.
//
//   - A value is a string, a number (its digits as sent) or a boolean; null and an empty string mean no value.
//   - If no name of a sent field has a value, the field is cleared; an empty first and last name do not clear the name.
//   - A list or an object under a field's own name fails the item; under an alias it is ignored with a warning,
//     since many senders use an object for "organization".
func plainItem(obj map[string]any) Item {
	r := plainReading{
		Item: Item{Fields: map[string]any{}, Extra: make(map[string]any, len(obj)), Action: contact.Upsert},
		obj:  obj, byFold: byFolded(obj), used: map[string]bool{},
	}
	for _, field := range aliases {
		if r.takeField(field); r.Err != nil {
			return r.Item
		}
	}
	r.joinName()
	if r.takeID(); r.Err != nil {
		return r.Item
	}
	if r.takeAction(); r.Err != nil {
		return r.Item
	}
	r.takeExtra()
	return r.Item
}

// plainReading is an object that is being read by common names.
type plainReading struct {
	Item
	obj     map[string]any
	byFold  map[string][]string // the object's names with a meaning
	used    map[string]bool     // the names read
	dropped []string            // the names whose value cannot be read
}

func (r *plainReading) takeField(a fieldAliases) {
	value, sent := any(nil), false
	for _, name := range r.candidates(a.field, a.names) {
		r.used[name] = true
		text, wrong := scalar(r.obj[name])
		if wrong != nil && fold(name) == fold(a.field) {
			r.fail(wrong, a.field)
			return
		}
		if wrong != nil {
			r.dropped = append(r.dropped, name)
			continue
		}
		sent = true
		if value == nil {
			value = text
		}
	}
	if sent {
		r.Fields[a.field] = value
	}
}

// joinName fills in the name from its parts.
func (r *plainReading) joinName() {
	var parts []string
	for _, half := range []string{foldedFirstName, foldedLastName} {
		part := ""
		for _, name := range r.byFold[half] {
			r.used[name] = true
			v, wrong := scalar(r.obj[name])
			if wrong != nil {
				r.dropped = append(r.dropped, name)
			} else if s, ok := v.(string); ok && part == "" {
				part = s
			}
		}
		if part != "" {
			parts = append(parts, part)
		}
	}
	if r.Fields[fieldName] == nil && len(parts) > 0 {
		r.Fields[fieldName] = strings.Join(parts, " ")
	}
}

func (r *plainReading) takeID() {
	v, sent := r.obj[FieldID]
	if !sent {
		return
	}
	r.used[FieldID] = true
	id, wrong := scalar(v)
	if wrong != nil {
		r.fail(wrong, FieldID)
		return
	}
	if text, ok := id.(string); ok {
		r.Match = []contact.Key{{Field: FieldID, Value: text}}
	}
}

// takeAction reads the action under its own name or, failing that, under a name that folds to it.
func (r *plainReading) takeAction() {
	names := r.candidates(fieldAction, []string{fieldAction})
	if len(names) == 0 {
		return
	}
	r.used[names[0]] = true
	text, wrong := scalar(r.obj[names[0]])
	if wrong != nil {
		r.fail(wrong, fieldAction)
		return
	}
	r.Action = actionOf(text)
}

// takeExtra keeps unknown properties under the names sent.
func (r *plainReading) takeExtra() {
	for name, value := range r.obj {
		if r.used[name] || ignored[name] {
			continue
		}
		if v, wrong := custom(value); wrong == nil {
			r.Extra[name] = v
		} else {
			r.dropped = append(r.dropped, name)
		}
	}
	if len(r.dropped) > 0 {
		slices.Sort(r.dropped)
		r.Warnings = append(r.Warnings, IgnoredWarning(r.dropped))
	}
}

// candidates lists the sent names of a field in order of precedence.
func (r *plainReading) candidates(field string, names []string) []string {
	var out []string
	if _, ok := r.obj[field]; ok {
		out = append(out, field)
	}
	for _, folded := range names {
		for _, name := range r.byFold[folded] {
			if name != field {
				out = append(out, name)
			}
		}
	}
	return out
}
