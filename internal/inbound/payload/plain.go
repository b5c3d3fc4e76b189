package payload

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

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
//
// ofEvent says that the object is a part of an event.
func plainItem(obj map[string]any, own map[string]Own, ofEvent bool) Item {
	r := plainReading{
		Item: Item{Fields: map[string]any{}, Extra: make(map[string]any, len(obj)), Action: contact.Upsert},
		obj:  obj, used: map[string]bool{}, own: own, ofEvent: ofEvent || isEvent(obj),
	}
	r.findNames()
	for _, field := range contact.Fields {
		if r.takeField(field.Name); r.Err != nil {
			return r.Item
		}
	}
	if r.takeName(); r.Err != nil {
		return r.Item
	}
	r.complete()
	r.warnLost()
	r.takeID()
	if r.takeAction(); r.Err != nil {
		return r.Item
	}
	if r.isNational() {
		r.Countries = countriesIn(obj)
		for name, value := range obj {
			if _, ok := names.Country(name); ok && !r.isOwn(name) && countryOf(value) != "" {
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
	obj        map[string]any
	called     map[string][]string // the object's names that mean a field, in the order in which they count
	action     []string            // those that mean the action
	used       map[string]bool     // the names read
	dropped    []string            // the names whose value cannot be read
	own        map[string]Own
	ofEvent    bool           // it is one, or a part of one
	message    *message       // see messageIn
	primaryIDs map[string]any // by the names of lists, see primary
	customer   *bool          // see hasCustomer
}

// isOwn reports whether a name is that of a field that an admin has added.
func (r *plainReading) isOwn(name string) bool { return isOwn(r.own, name) }

// findNames finds the names with a meaning. An object may have tens of thousands of others.
func (r *plainReading) findNames() {
	r.called = map[string][]string{}
	var known, shaped []string
	for name := range r.obj {
		switch {
		case r.isSenders(name) && !r.isOwn(name):
			r.leaveToSender(name)
		case fieldLike(name) != "":
			r.called[fieldLike(name)] = append(r.called[fieldLike(name)], name)
		case isAction(name):
			r.action = append(r.action, name)
		case r.spoken(name) != "" && !r.isOwn(name):
			shaped = append(shaped, name)
		case !names.Known(name) || r.isOwn(name) || isPerson(name, r.obj[name]):
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
		field := cmp.Or(r.shape(name), r.spoken(name))
		r.called[field] = append(r.called[field], name)
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

// take returns the first text of a field's names, and whether one of them was sent. A name that may be the number of an
// order counts only if there is no other.
func (r *plainReading) take(field string) (value any, sent bool) {
	var numbered any
	for _, name := range r.called[field] {
		found, isSent := r.valueAt(field, name)
		if r.Err != nil {
			return nil, false
		}
		sent = sent || isSent
		text, _ := found.(string)
		switch list, _ := r.obj[name].([]any); {
		case found == nil, value != nil:
		case field == fieldName && isNumbered(text):
			numbered = cmp.Or(numbered, found)
		default:
			value = found
			if len(list) > 1 {
				r.warn(fmt.Sprintf("only one of %d values is read: %s", len(list), some([]string{name})))
			}
		}
	}
	return cmp.Or(value, numbered), sent
}

// valueAt returns the text that a name of a field has, and whether it was sent.
func (r *plainReading) valueAt(field, name string) (value any, sent bool) {
	r.used[name] = true
	if isBlank(r.obj[name]) {
		return nil, false
	}
	text, wrong := valueOf(field, r.primary(name))
	if field == FieldPhone {
		if text = withoutChat(text); names.IsUniversal(name) {
			text = universal(text)
		}
	}
	list, _ := r.obj[name].([]any)
	isExact := isField(field) && names.Fold(name) == names.Fold(field)
	_, isObject := r.obj[name].(map[string]any)
	switch {
	case isExact && !contact.IsOptional(field) && (wrong != nil || len(list) > 1):
		_, wrong = scalar(r.obj[name])
		r.fail(wrong, field)
	case wrong != nil:
		r.dropped = append(r.dropped, name)
	case isObject && text == nil: // an optional part of a form, left empty
	case isNoValue(text) || field == fieldName && isOrder(text):
		r.lose(field, text)
	default:
		return text, true
	}
	return nil, false
}

// primary returns the value of a property, or of a list the element whose ID another property names, as in
// "primary_email_address_id".
func (r *plainReading) primary(name string) any {
	list, _ := r.obj[name].([]any)
	if len(list) < 2 {
		return r.obj[name]
	}
	if r.primaryIDs == nil {
		r.primaryIDs = map[string]any{}
		for key, id := range r.obj {
			if folded, found := strings.CutPrefix(names.Fold(key), "primary"); found && isString(id) {
				r.primaryIDs[folded] = id
			}
		}
	}
	folded := names.Fold(name)
	for _, one := range []string{strings.TrimSuffix(folded, "es"), strings.TrimSuffix(folded, "s")} {
		id, named := r.primaryIDs[one+"id"]
		for _, el := range list {
			if named && objectIn(el)["id"] == id {
				return el
			}
		}
	}
	return r.obj[name]
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
	if name := names.Whole(whole, parts); name != "" {
		r.Fields[fieldName] = name
	} else if v, sent := r.obj[fieldName]; sent && !isBlank(v) && r.lost[fieldName] == nil {
		if _, isObject := v.(map[string]any); !isObject {
			r.Fields[fieldName] = nil
		}
	}
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
