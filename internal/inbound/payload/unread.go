package payload

import (
	"maps"
	"slices"
	"strings"

	"contactbase/internal/contact/names"
)

// hinted are the fields whose values in nested parts are worth a hint, in the order in which the hint names them.
var hinted = []string{names.Email, names.Name, names.Phone, names.Company}

// holders are the properties in which a name is the contact's, folded; elsewhere it may be that of a product or a form.
var holders = []string{"data", "payload", "contact", "customer", "person", "lead", "user", "member", "subscriber"}

// adviseUnread adds a warning about what the item's nested parts have that was not read, and a mapping that reads it.
func (it *Item) adviseUnread(root any) {
	obj, at := objectIn(root), []string(nil)
	if it.source != nil {
		obj, at = it.source.obj, it.source.at
	}
	w := newWork()
	labels, ok := w.sorted(obj)
	if obj == nil || !ok || it.Err != nil || len(it.Fields) == 0 {
		return
	}
	found := &proposal{Fields: namesIn(obj, labels, at)}
	maps.DeleteFunc(found.Fields, func(field string, _ any) bool { return it.Fields[field] == nil })
	found.addDetails(w, obj, labels, at)
	wanted := slices.DeleteFunc(slices.Clone(hinted), func(field string) bool {
		_, sent := it.Fields[field]
		return sent || found.Fields[field] != nil
	})
	email, _ := it.Fields[FieldEmail].(string)
	found.addUnread(w, part{obj: obj, at: at}, wanted, email)
	var unread []string
	for _, field := range hinted {
		if _, sent := it.Fields[field]; !sent && found.Fields[field] != nil {
			unread = append(unread, titles[field])
		}
	}
	text := found.text()
	if len(unread) == 0 || text == "" {
		return
	}
	was := " that was not read"
	if len(unread) > 1 {
		was = " that were not read"
	}
	it.Warnings = append(it.Warnings, "the body has "+strings.Join(unread, " and ")+was+
		"; choose the sender's preset, or set a mapping such as "+text)
}

// titles are the fields as a warning names them.
var titles = map[string]string{
	names.Email: "an email address", names.Name: "a name", names.Phone: "a phone number", names.Company: "a company",
}

// part is a nested part of a payload.
type part struct {
	label string
	obj   map[string]any
	at    []string
}

// addUnread adds the paths of the wanted fields in the nested parts of an object, those of the outer parts first. A
// part with another email address than the contact's, if any, is about somebody else.
func (p *proposal) addUnread(w *work, outer part, wanted []string, email string) {
	level := []part{outer}
	for depth := 0; depth < suggestDepth && len(level) > 0; depth++ {
		var inner []part
		for _, outer := range level {
			inner = append(inner, partsOf(w, outer)...)
		}
		for _, in := range inner {
			p.addFrom(w, in, wanted, email)
		}
		level = inner
	}
}

// partsOf returns the objects in an object, except those about the sender or other people.
func partsOf(w *work, outer part) (inner []part) {
	labels, ok := w.sorted(outer.obj)
	if !ok {
		return nil
	}
	for _, label := range labels {
		in := part{label, nil, below(outer.at, escaped(label))}
		switch v := outer.obj[label].(type) {
		case map[string]any:
			in.obj = v
		case []any:
			if len(v) > 0 {
				in.obj, _ = v[0].(map[string]any)
				in.at = below(in.at, "0")
			}
		}
		if in.obj != nil && ownerOf(label) == "" && !names.IsAside(label) {
			inner = append(inner, in)
		}
	}
	return inner
}

// addFrom adds the paths of the wanted fields in a part that have none yet.
func (p *proposal) addFrom(w *work, in part, wanted []string, email string) {
	labels, ok := w.sorted(in.obj)
	if !ok {
		return
	}
	paths, groups := namesIn(in.obj, labels, in.at), byField(labels)
	textOf := func(field string) string {
		if len(groups[field]) == 0 {
			return ""
		}
		text, _ := valueOf(field, in.obj[labels[groups[field][0]]])
		value, _ := text.(string)
		return strings.TrimSpace(value)
	}
	if other := textOf(names.Email); email != "" && other != "" && !strings.EqualFold(email, other) {
		return
	}
	for _, field := range wanted {
		switch {
		case p.Fields[field] != nil || paths[field] == nil:
		case field == names.Email || field == names.Phone:
			if shapeOf(textOf(field)) == field {
				p.Fields[field] = paths[field]
			}
		case field == names.Company || slices.Contains(holders, names.Fold(in.label)):
			p.Fields[field] = paths[field]
		}
	}
}
