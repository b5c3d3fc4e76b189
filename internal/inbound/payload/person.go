package payload

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"contactbase/internal/contact"
	"contactbase/internal/contact/names"
)

// personDepth is how many objects, lists and texts with JSON a person may be in.
const personDepth = 10

// envelopes and people are the properties, folded, in which a name and a phone number are a person's. Elsewhere they
// may be those of a place.
var (
	envelopes = []string{"data", "payload", "body", "object", "record", "fields", "formdata", "formresponse", "submission"}
	people    = []string{"user", "from", "sender", "author"}
)

// person is a part of a payload that plainly holds one.
type person struct {
	Item
	key       string // by which two parts are about the same person: the email address or the phone number
	at        []string
	obj       map[string]any // nil for a form
	isContact bool           // its name says so
}

// search looks for people in the parts of a payload.
type search struct {
	w     *work
	own   map[string]Own
	at    []string // where it is
	found []person
}

// findPerson returns the item of the only person in the parts of an object, and where it is. If there are several,
// those whose part is named as that of a contact, such as "customer", count. It returns nothing for none, if nobody can
// tell which of them is the contact, and for an event about somebody who is gone.
func findPerson(w *work, obj map[string]any, own map[string]Own) (found person, several bool) {
	s := &search{w: w, own: own}
	if !s.addForm("", obj) {
		s.inParts(obj, personDepth, isEvent(obj), false)
	}
	if s.w.isOver() || isRemoval(obj) || isOutgoing(obj) {
		return person{}, false
	}
	counts := s.found
	if slices.ContainsFunc(counts, func(p person) bool { return p.isContact }) {
		counts = slices.DeleteFunc(slices.Clone(counts), func(p person) bool { return !p.isContact })
	}
	for _, p := range counts {
		if p.key != counts[0].key {
			return person{}, true
		}
	}
	same := slices.DeleteFunc(s.found, func(p person) bool { return len(counts) == 0 || p.key != counts[0].key })
	for _, p := range same {
		if len(p.Fields) > len(found.Fields) {
			found = p
		}
	}
	for _, other := range same {
		for _, field := range completed {
			if text, _ := other.Fields[field].(string); text != "" && found.Fields[field] == nil {
				found.Fields[field] = text
				found.Countries = append(found.Countries, other.Countries...)
			}
		}
	}
	return found, false
}

// in looks at a value with this name. inside says that it is in a person: then only a contact counts.
func (s *search) in(label string, v any, depth int, ofEvent, inside bool) {
	if depth == 0 || !s.w.spend(4) {
		return
	}
	switch v := v.(type) {
	case string:
		if !looksLikeJSON([]byte(v)) {
			return
		}
		if inner, ok := unpack(s.w, v); ok {
			s.at = append(s.at, fromText)
			s.in(label, inner, depth-1, ofEvent, inside)
			s.at = s.at[:len(s.at)-1]
		}
	case []any:
		if !inside && isForm(v) && s.add(label, formItem(s.w, v), nil) {
			return
		}
		for i, el := range v {
			if hasParts(el) || isString(el) {
				s.at = append(s.at, strconv.Itoa(i))
				s.in(label, el, depth-1, ofEvent, inside)
				s.at = s.at[:len(s.at)-1]
			}
		}
	case map[string]any:
		s.inObject(label, v, depth, ofEvent, inside)
	}
}

const fromText = "@fromstr"

func (s *search) inObject(label string, obj map[string]any, depth int, ofEvent, inside bool) {
	if isRemoval(obj) || isOutgoing(obj) || !s.w.spend(16*len(obj)) {
		return
	}
	isContact := names.IsContact(label)
	if !inside || isContact {
		if s.addForm(label, obj) {
			return
		}
		item := plainItem(obj, s.own, ofEvent)
		item.Action = contact.Upsert // that of the event
		inside = s.add(label, item, obj) || inside
	}
	s.inParts(obj, depth, ofEvent || isEvent(obj), inside || names.Of(label).Field == names.Company)
}

// addForm adds the person in an object that is a form.
func (s *search) addForm(label string, obj map[string]any) bool {
	if asList(obj["answers"]) != nil && s.add(label, formItem(s.w, obj), nil) {
		return true
	}
	all, _ := values(s.w, obj)
	for _, form := range [][]any{asList(all), {obj}} { // an object may also be the only question
		if isForm(form) && s.add(label, formItem(s.w, form), nil) {
			return true
		}
	}
	return false
}

// inParts looks at the parts of an object, except those about the sender and other people.
func (s *search) inParts(obj map[string]any, depth int, ofEvent, inside bool) {
	labels, ok := s.w.sorted(obj)
	if !ok {
		return
	}
	for _, label := range labels {
		v := obj[label]
		if (hasParts(v) || isString(v)) && ownerOf(label) == "" && !names.IsAside(label) && !isOwn(s.own, label) {
			s.at = append(s.at, label)
			s.in(label, v, depth-1, ofEvent, inside)
			s.at = s.at[:len(s.at)-1]
		}
	}
}

func isString(v any) bool {
	_, is := v.(string)
	return is
}

// add adds the person in an item, and reports whether there is one: with an email address, or with a name and a phone
// number where these are a person's. obj is nil for a form.
func (s *search) add(label string, item Item, obj map[string]any) bool {
	if item.Err != nil || isStaff(obj) {
		return false
	}
	email, _ := item.Fields[FieldEmail].(string)
	phone, _ := item.Fields[FieldPhone].(string)
	name, _ := item.Fields[fieldName].(string)
	p := person{Item: item, at: slices.Clone(s.at), obj: obj, isContact: names.IsContact(label)}
	read := contact.ReadEmail(email)
	switch {
	case read.Wrong == nil && addressShape.MatchString(read.Value):
		p.key = strings.ToLower(read.Value)
	case name != "" && channelOf(phone) == FieldPhone && (obj == nil || isOfPerson(label, obj)):
		p.key = names.Fold(phone)
	default:
		return false
	}
	s.found = append(s.found, p)
	for key, value := range obj {
		text, _ := value.(string)
		if isCorrespondent(key) && channelOf(text) == FieldEmail &&
			!strings.EqualFold(contact.ReadEmail(text).Value, read.Value) { // nobody can tell who of the two it is
			s.found = append(s.found, person{key: strings.ToLower(text), at: p.at, isContact: p.isContact})
			break
		}
	}
	return true
}

// roles are the properties that say who a person is.
var roles = []string{"type", "role", "user_type", "author_type", "sender_type"}

// isStaff reports whether an object says that its person is one of the sender's.
func isStaff(obj map[string]any) bool {
	return slices.ContainsFunc(roles, func(name string) bool {
		text, _ := obj[name].(string)
		return names.IsAside(text)
	})
}

// isCorrespondent reports whether a property has the address of one of two people.
func isCorrespondent(key string) bool {
	return isSpeaker(key) || len(key) <= longestSpeaker && slices.Contains(addressees, names.Fold(key))
}

// isOfPerson reports whether a name in an object is a person's.
func isOfPerson(label string, obj map[string]any) bool {
	if folded := names.Fold(label); names.IsContact(label) || slices.Contains(envelopes, folded) ||
		slices.Contains(people, folded) {
		return true
	}
	for key := range obj {
		if field := names.Of(key).Field; names.IsHalf(field) || isSpeaker(key) ||
			field == fieldName && names.Fold(key) != fieldName {
			return true
		}
	}
	return false
}

var removal = regexp.MustCompile(`(?i)delet|destroy|remov|eras|redact|purg`)

// isRemoval reports whether an object says that something is gone.
func isRemoval(obj map[string]any) bool {
	for _, name := range slices.Concat(eventNames, eventVerbs) {
		if text, _ := obj[name].(string); len(text) < longestKind && removal.MatchString(text) {
			return true
		}
	}
	return false
}

// readItem reads an object by common names or, if it has no person itself, the only person in its parts.
func readItem(obj map[string]any, own map[string]Own) Item {
	it := plainItem(obj, own, false)
	if it.Err != nil || it.Match != nil || !it.isEnvelope() {
		return it
	}
	found, several := findPerson(newWork(), obj, own)
	if it.several = several; found.key == "" {
		return it
	}
	if it.Fields[fieldName] != nil && (found.Fields[fieldName] == nil || !found.isPlain()) {
		return it
	}
	first := ""
	if len(found.at) > 0 {
		first = found.at[0]
		found.warn(fmt.Sprintf("the contact is read from %q", cut(strings.Join(found.steps(), "."), 128)))
	}
	if rest := besides(obj, first); len(rest) > 0 && first != "" {
		found.warn(IgnoredWarning(rest))
	}
	found.source = &part{obj: found.obj, at: found.steps()}
	return found.Item
}

func (it *Item) warn(text string) { it.Warnings = append(it.Warnings, text) }

// isEnvelope reports whether an item has nothing by which its contact can be found, and no phone number beside a name.
func (it *Item) isEnvelope() bool {
	return it.Fields[FieldEmail] == nil && it.Fields[FieldExternalID] == nil &&
		(it.Fields[fieldName] == nil || it.Fields[FieldPhone] == nil)
}

// isPlain reports whether a person counts even beside a name, which may be that of a form or of an order.
func (p *person) isPlain() bool {
	return p.isContact || p.obj == nil || slices.Contains(envelopes, names.Fold(p.at[len(p.at)-1]))
}

// steps returns the steps of the path to a person.
func (p *person) steps() []string {
	steps := make([]string, len(p.at))
	for i, step := range p.at {
		if steps[i] = step; step != fromText {
			steps[i] = escaped(step)
		}
	}
	return steps
}

// besides returns the names of the other properties of an object.
func besides(obj map[string]any, name string) (rest []string) {
	for key, value := range obj {
		if key != name && !isBlank(value) {
			rest = append(rest, key)
		}
	}
	slices.Sort(rest)
	return rest
}
