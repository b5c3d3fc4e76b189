package payload

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"contactbase/internal/contact"
	"contactbase/internal/contact/names"
)

// plainItem reads an object by common names, see package names. A property with one of the own names of the admin's
// fields is nothing else.
//
//   - A value is a string, a number (its digits as sent) or a boolean, or a list with one of these. A blank string
//     counts as not sent: forms send all of their inputs.
//   - If the names of a field have null and no value, the field is cleared; first and last name do not clear the name.
//   - From an object, the value for the field is read, and from a list one value. An object without such a value is
//     ignored with a warning, since many senders use one for "organization". Under the field's own name, it fails the
//     item if the field identifies the contact, as does a list.
func plainItem(obj map[string]any, own map[string]Own) Item {
	r := plainReading{
		Item: Item{Fields: map[string]any{}, Extra: make(map[string]any, len(obj)), Action: contact.Upsert},
		obj:  obj, used: map[string]bool{},
	}
	r.findNames(own)
	for _, field := range contact.Fields {
		if r.takeField(field.Name); r.Err != nil {
			return r.Item
		}
	}
	if r.takeName(); r.Err != nil {
		return r.Item
	}
	r.warnLost()
	r.takeID()
	if r.takeAction(); r.Err != nil {
		return r.Item
	}
	if r.isNational() {
		r.Countries = countriesIn(obj)
		for name, value := range obj {
			if _, ok := names.Country(name); ok && !isOwn(own, name) && countryOf(value) != "" {
				r.used[name] = true
			}
		}
	}
	r.takeExtra()
	return r.Item
}

// plainReading is an object that is being read by common names.
type plainReading struct {
	Item
	obj     map[string]any
	called  map[string][]string // the object's names that mean a field, in the order in which they count
	action  []string            // those that mean the action
	used    map[string]bool     // the names read
	dropped []string            // the names whose value cannot be read
}

// findNames finds the names with a meaning. An object may have tens of thousands of others.
func (r *plainReading) findNames(own map[string]Own) {
	r.called = map[string][]string{}
	var known, shaped []string
	for name := range r.obj {
		switch {
		case isSenders(r.obj, name) && !isOwn(own, name):
			r.leaveToSender(name)
		case fieldLike(name) != "":
			r.called[fieldLike(name)] = append(r.called[fieldLike(name)], name)
		case isAction(name):
			r.action = append(r.action, name)
		case !names.Known(name) || isOwn(own, name) || isPerson(name, r.obj[name]):
		case r.shape(name) != "":
			shaped = append(shaped, name)
		default:
			known = append(known, name)
		}
	}
	slices.Sort(known)
	slices.Sort(shaped)
	slices.Sort(r.action)
	for field, group := range byField(known) {
		for _, i := range group {
			r.called[field] = append(r.called[field], known[i])
		}
	}
	for _, name := range shaped {
		r.called[r.shape(name)] = append(r.called[r.shape(name)], name)
	}
}

// isPerson reports whether a property such as "contact" is an object, or a list of objects, with more about a
// person than a name.
func isPerson(name string, v any) bool {
	if list, _ := v.([]any); len(list) > 0 {
		v = list[0]
	}
	obj, ok := v.(map[string]any)
	if !ok || names.Of(name).Field != fieldName {
		return false
	}
	for key := range obj {
		if field := names.Of(key).Field; field == FieldEmail || field == FieldPhone {
			return true
		}
	}
	return false
}

// shape returns the field that the value of a property such as "contact" looks like, "" if it may be a name. The
// property "name" always is one.
func (r *plainReading) shape(name string) string {
	text, _ := r.obj[name].(string)
	if text == "" || names.Fold(name) == fieldName || names.Of(name).Field != fieldName {
		return ""
	}
	return shapeOf(strings.TrimSpace(text))
}

// unnamed are the fields that have no names but their own. A field that is added to the contacts may be one.
var unnamed = slices.DeleteFunc(slices.Clone(contact.Fields), func(field *contact.Field) bool {
	return names.Known(field.Name)
})

// fieldLike returns the unnamed field whose name differs only in case and punctuation.
func fieldLike(name string) string {
	for _, field := range unnamed {
		if names.Fold(field.Name) == names.Fold(name) {
			return field.Name
		}
	}
	return ""
}

// isAction reports whether a name is "action", whatever its case and separators.
func isAction(name string) bool {
	return len(name) >= len(fieldAction) && len(name) <= 2*len(fieldAction) && names.Fold(name) == fieldAction
}

// take returns the first text of a field's names, and whether one of them was sent.
func (r *plainReading) take(field string) (value any, sent bool) {
	for _, name := range r.called[field] {
		r.used[name] = true
		text, wrong := valueOf(field, r.obj[name])
		list, _ := r.obj[name].([]any)
		isExact := isField(field) && names.Fold(name) == names.Fold(field)
		if isBlank(r.obj[name]) {
			continue
		}
		if isExact && !contact.IsOptional(field) && (wrong != nil || len(list) > 1) {
			_, wrong = scalar(r.obj[name])
			r.fail(wrong, field)
			return nil, false
		}
		if wrong != nil {
			r.dropped = append(r.dropped, name)
			continue
		}
		if _, isObject := r.obj[name].(map[string]any); isObject && text == nil {
			continue // an optional part of a form, left empty
		}
		if isNoValue(text) {
			r.lose(field, text)
			continue
		}
		sent = true
		if value == nil {
			value = text
			if len(list) > 1 {
				r.Warnings = append(r.Warnings, fmt.Sprintf("only one of %d values is read: %s", len(list), some([]string{name})))
			}
		}
	}
	return value, sent
}

func (r *plainReading) takeField(field string) {
	if value, sent := r.take(field); sent {
		r.Fields[field] = value
	}
}

// takeName fills in the name from its parts, or completes it with them.
func (r *plainReading) takeName() {
	var parts [3]string
	for i, part := range names.Halves {
		value, _ := r.take(part)
		parts[i], _ = value.(string)
	}
	whole, _ := r.Fields[fieldName].(string)
	if isNumbered(whole) && parts == [3]string{} {
		if key, name := r.namesake(); name != "" {
			r.Warnings = append(r.Warnings,
				fmt.Sprintf("the name is that of %s, which has the same email address", some([]string{key})))
			whole = name
		}
	}
	if name := names.Whole(whole, parts); name != "" {
		r.Fields[fieldName] = name
	} else if v, sent := r.obj[fieldName]; sent && !isBlank(v) && r.lost[fieldName] == nil {
		if _, isObject := v.(map[string]any); !isObject {
			r.Fields[fieldName] = nil
		}
	}
}

// isNumbered reports whether a name is that of an order, such as "#1001": it has no letter.
func isNumbered(name string) bool { return name != "" && !strings.ContainsFunc(name, unicode.IsLetter) }

// namesake returns an object in the item with the same email address and a first or last name, such as an order's
// customer, and that name.
func (r *plainReading) namesake() (first, name string) {
	email, _ := r.Fields[FieldEmail].(string)
	for key, v := range r.obj {
		obj, _ := v.(map[string]any)
		if text, _ := obj[FieldEmail].(string); email == "" || !strings.EqualFold(text, email) {
			continue
		}
		if found, hasParts := nameIn(obj); hasParts && found != "" && (name == "" || key < first) {
			first, name = key, found
		}
	}
	return first, name
}

func (r *plainReading) takeID() {
	v, sent := r.obj[FieldID]
	if !sent {
		return
	}
	r.used[FieldID] = true
	if id, wrong := scalar(v); wrong != nil {
		r.Warnings = append(r.Warnings, foreignID)
	} else if text, ok := id.(string); ok {
		r.matchID(text)
	}
}

// takeAction reads the action under its own name or, failing that, under a name that folds to it.
func (r *plainReading) takeAction() {
	if len(r.action) == 0 {
		return
	}
	name := r.action[0]
	if slices.Contains(r.action, fieldAction) {
		name = fieldAction
	}
	r.used[name] = true
	text, wrong := scalar(r.obj[name])
	if wrong != nil {
		r.fail(wrong, fieldAction)
		return
	}
	r.Action = actionOf(text)
}

// takeExtra keeps unknown properties under the names sent.
func (r *plainReading) takeExtra() {
	for name, value := range r.obj {
		if r.used[name] || ignored[name] || isBlank(value) {
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
