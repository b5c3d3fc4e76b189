package payload

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"contactbase/internal/contact"
	"contactbase/internal/contact/written"
	"contactbase/internal/fault"
)

// reading is a mapping applied to one payload.
type reading struct {
	*Mapping
	work *work
	root any
	own  map[string]Own

	rootAction *action // the payload's own, looked up once
}

// action is the result of the action path.
type action struct {
	text string
	err  *fault.Field
}

// apply reads a payload by the mapping. If the work exceeds its limit, it fails with fault.MappingTooCostly: the
// request, if its items are still unknown, or else the remaining items.
func (m *Mapping) apply(root any, own map[string]Own) (Payload, error) {
	r := &reading{Mapping: m, work: newWork(), root: root, own: own}
	selected, batch, err := r.selectItems()
	if err != nil {
		return Payload{}, err
	}
	p := Payload{Batch: batch}
	if len(selected) == 0 && m.preset != "" {
		p.Items = []Item{r.nothing()}
	}
	for _, v := range selected {
		it := r.item(v)
		if r.work.isOver() {
			it = Item{Action: contact.Upsert, Err: fault.New(fault.MappingTooCostly, tooCostly)}
		}
		p.Items = append(p.Items, it)
	}
	p.Note = askedNote(r.work.asked)
	return p, nil
}

// tooCostly is the message for a payload that costs a mapping too much work.
const tooCostly = "the mapping's paths do too much work on this payload: " +
	"send fewer items in a request, or use simpler paths"

// selectItems finds the items. A path that selects an empty list means that nothing must be done, so that a path can
// filter. A path that finds nothing means that the sender has changed its format.
func (r *reading) selectItems() (selected []any, batch bool, _ error) {
	list, isList := r.root.([]any)
	if r.items == nil {
		if !isList {
			return []any{r.root}, false, nil
		}
		if len(list) == 0 {
			return nil, true, errEmptyArray
		}
		return list, true, checkCount(len(list))
	}
	found, ok := r.work.get(r.root, r.items)
	if r.work.isOver() {
		return nil, true, fault.New(fault.MappingTooCostly, strings.ToUpper(tooCostly[:1])+tooCostly[1:]+".")
	}
	switch v := found.(type) {
	case []any:
		return v, true, checkCount(len(v))
	case map[string]any:
		return []any{v}, true, nil
	case nil:
		if ok || r.preset != "" {
			return nil, true, nil
		}
	}
	return nil, true, fault.New(fault.ValidationFailed, fmt.Sprintf(
		"The mapping's items path %q finds no list in this payload. Correct the path, or send a list there.%s",
		shorten(r.itemsText), receivedNote(arrived(r.root)),
	))
}

// nothing returns the item for a payload from which a preset takes no contact, such as that of another event.
func (r *reading) nothing() Item {
	root := r.root
	if list, ok := root.([]any); ok && len(list) > 0 {
		root = list[0]
	}
	warning := fmt.Sprintf("the preset %q takes no contact from this request", r.preset)
	if kind, _, _ := r.textAt(root, r.action); kind != "" {
		warning += fmt.Sprintf(", whose %s is %q", r.actionText, shorten(kind))
	}
	return Item{Action: contact.Upsert, Ignored: true, Warnings: []string{warning}}
}

func (r *reading) item(v any) Item {
	it := Item{Fields: map[string]any{}, Extra: map[string]any{}, Action: contact.Upsert}
	if len(r.fields) == 0 {
		obj, ok := v.(map[string]any)
		if !ok {
			return notAnObject()
		}
		if !r.work.spend(8 * len(obj)) {
			return it
		}
		it = plainItem(obj, r.own, false)
	}
	var skipped []string
	for _, t := range r.fields {
		value, found, isOther, err := r.first(v, t)
		if it.refuse(err, t.name); it.Err != nil {
			return it
		}
		if isOther {
			skipped = append(skipped, t.name)
		}
		if !found {
			it.Missing = append(it.Missing, strconv.Quote(t.name)+" at "+t.paths)
		}
		if it.take(t, value); t.name == FieldPhone && it.isNational() {
			it.Countries = r.countries(v, t)
		}
	}
	it.warnLost()
	if len(skipped) > 0 {
		it.Warnings = append(it.Warnings, "the mapping's path finds a list or an object, not a value: "+some(skipped))
	}
	if len(it.Missing) > 0 {
		it.Warnings = append(it.Warnings, MissingWarning(it.Missing))
	}
	if r.action != nil && it.Err == nil {
		it.Action = r.actionOf(v)
	}
	return it
}

// refuse leaves out an optional value with a warning, and fails the item because of another. err may be nil.
func (it *Item) refuse(err *fault.Field, name string) {
	switch {
	case err == nil:
	case contact.IsOptional(name):
		it.Warnings = append(it.Warnings, name+" ignored: it "+err.Message)
	default:
		it.fail(err, name)
	}
}

// take sets the property that a mapping has a value for; nil is none.
func (it *Item) take(t target, value any) {
	text, _ := value.(string)
	switch {
	case value == nil:
	case t.isShipped() && isNoValue(value):
		it.lose(t.name, value)
	case t.name == FieldID:
		it.matchID(text)
	case isField(t.name):
		it.Fields[t.name] = text
	default:
		it.Extra[t.name] = value
	}
}

// isNational reports whether the item has a phone number that may be of any country.
func (it *Item) isNational() bool {
	phone, _ := it.Fields[FieldPhone].(string)
	return phone != "" && !isInternational(phone)
}

// first returns the text of the first source that has one. It skips a source without a text value: a blank answer in
// a form must not clear a field, and a question that became multiple choice must not lose the contact. A text for no
// value counts only if nothing else does. For an admin's field, a number, a list, true and false stay what they are.
// found reports whether a path leads to anything, perhaps to null, isOther that there were only lists and objects.
func (r *reading) first(v any, t target) (value any, found, isOther bool, _ *fault.Field) {
	for _, s := range t.sources {
		if typed := r.typed(v, t, s); typed != nil {
			return typed, true, false, nil
		}
		var parts []string
		for _, p := range s {
			part, ok, err := r.textAt(v, p)
			if err != nil && err.Code != fault.CodeInvalidType {
				return nil, true, false, err
			}
			found = found || ok
			isOther = isOther || err != nil
			if r.isNoValue(t, part) {
				value = part
			} else if part != "" {
				parts = append(parts, part)
			}
		}
		if len(parts) > 0 {
			return strings.Join(parts, " "), true, false, nil
		}
	}
	return value, found, isOther, nil
}

// typed returns what a source of an admin's field finds if its text would lose the type, nil otherwise.
func (r *reading) typed(v any, t target, s source) any {
	if t.isShipped() || len(s) > 1 {
		return nil
	}
	if found, ok := r.work.get(v, s[0]); ok && isTyped(found) {
		return found
	}
	return nil
}

// isTyped reports whether a value has a type that the text of it would lose.
func isTyped(v any) bool {
	switch v := v.(type) {
	case bool, json.Number:
		return true
	case []any:
		return len(v) > 0 && !slices.ContainsFunc(v, hasParts)
	}
	return false
}

// isNoValue reports whether a text is no value of the target.
func (r *reading) isNoValue(t target, text string) bool {
	if t.isShipped() {
		return written.IsNoValue(text)
	}
	field := r.own[t.name]
	return field.IsNoValue != nil && field.IsNoValue(text)
}

// isShipped reports whether the target is the id or a field of every installation.
func (t target) isShipped() bool { return t.name == FieldID || isField(t.name) }

// countries returns where a phone number may be from: what stands beside it, and in the item.
func (r *reading) countries(v any, phone target) (found []string) {
	for _, s := range phone.sources {
		for _, p := range s {
			if beside, ok := r.work.get(v, p.parent()); ok && r.work.spend(sizeOf(beside)) {
				found = append(found, countriesIn(beside)...)
			}
		}
	}
	if r.work.spend(sizeOf(v)) {
		found = append(found, countriesIn(v)...)
	}
	return found
}

// sizeOf returns the number of properties of an object.
func sizeOf(v any) int {
	obj, _ := v.(map[string]any)
	return len(obj)
}

// parent returns the path without its last step.
func (p path) parent() path {
	last := len(p) - 1
	if last < 0 || len(p[last]) == 0 {
		return nil
	}
	return append(slices.Clone(p[:last]), p[last][:len(p[last])-1])
}

// textAt returns the text of the value at a path, "" if none, and whether the path leads to anything. The error is
// fault.CodeInvalidType for a list or an object.
func (r *reading) textAt(v any, p path) (string, bool, *fault.Field) {
	found, ok := r.work.get(v, p)
	if text, isText := found.(string); isText && !r.work.spend(len(text)/4) {
		return "", ok, nil
	}
	text, err := scalar(found)
	s, _ := text.(string)
	return s, ok, err
}

// actionOf reads an item's action, from the surrounding payload if needed.
func (r *reading) actionOf(v any) contact.Action {
	text, _, err := r.textAt(v, r.action)
	if text == "" && err == nil {
		if r.rootAction == nil {
			text, _, err = r.textAt(r.root, r.action)
			r.rootAction = &action{text, err}
		}
		text, err = r.rootAction.text, r.rootAction.err
	}
	switch {
	case r.listed && slices.Contains(r.deleteWhen, text):
		return contact.Delete
	case r.listed || text == "" && err == nil:
		return contact.Upsert
	case err != nil:
		return "a list or an object"
	}
	return actionOf(text)
}
