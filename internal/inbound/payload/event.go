package payload

import (
	"maps"
	"slices"
	"strings"

	"contactbase/internal/contact"
	"contactbase/internal/event"
)

// contactKinds are the kinds of events that change contacts here.
var contactKinds = []event.Kind{event.ContactCreated, event.ContactUpdated, event.ContactDeleted}

// decodeEvent reads the body of an outbound event of another Contactbase. It returns false if it is none. Events
// about a webhook or a key, kinds of a later version and those of extensions need nothing done.
func decodeEvent(obj map[string]any) (Payload, bool) {
	eventID, _ := obj["id"].(string)
	typed, _ := obj["type"].(string)
	kind := event.Kind(typed)
	_, stamped := obj["timestamp"].(string)
	if !strings.HasPrefix(eventID, event.IDPrefix) || !stamped {
		return Payload{}, false
	}
	if prefix, _, _ := strings.Cut(typed, "."); prefix == "webhook" ||
		prefix == "key" || prefix == "contact" && !slices.Contains(contactKinds, kind) {
		return Payload{}, true
	}
	source, _ := obj["source"].(map[string]any)
	if source["type"] == string(event.FromExtension) && !slices.Contains(contactKinds, kind) {
		return Payload{}, true
	}
	data, ok := obj["data"].(map[string]any)
	if !ok || !slices.Contains(contactKinds, kind) {
		return Payload{}, false
	}
	if id, _ := data[FieldID].(string); id == "" {
		return Payload{}, false
	}
	previous, _ := obj["previous"].(map[string]any)
	return Payload{Items: []Item{eventItem(kind, data, previous)}}, true
}

// eventItem reads the contact of an event, whose names are ours. The copy of a contact has the original's externalId
// or, if it has none, the original's id. The externalId before the event finds the copy, which then follows: a change
// of the original's externalId changes the copy's.
func eventItem(kind event.Kind, data, previous map[string]any) Item {
	it := Item{
		Fields: map[string]any{}, Extra: map[string]any{}, Action: contact.Upsert, Changed: []string{FieldExternalID},
	}
	if kind == event.ContactDeleted {
		it.Action = contact.Delete
	}
	it.readEvent(data)
	if it.Err != nil {
		return it
	}
	id := data[FieldID]
	before, changed := previous[FieldExternalID]
	if !changed {
		before = it.Fields[FieldExternalID]
	}
	it.Match = []contact.Key{{Field: FieldExternalID, Value: firstText(before, id)}}
	it.Fields[FieldExternalID] = firstText(it.Fields[FieldExternalID], id)
	for name := range previous {
		if name != FieldExternalID {
			it.Changed = append(it.Changed, name)
		}
	}
	slices.Sort(it.Changed)
	return it
}

// readEvent reads the fields of an event's contact.
func (it *Item) readEvent(data map[string]any) {
	var dropped []string
	for _, name := range slices.Sorted(maps.Keys(data)) {
		if name == FieldID || ignored[name] {
			continue
		}
		if isField(name) {
			v, err := scalar(data[name])
			if err != nil {
				it.fail(err, name)
				return
			}
			it.Fields[name] = v
		} else if v, err := custom(data[name]); err == nil {
			it.Extra[name] = v
		} else {
			dropped = append(dropped, name)
		}
	}
	if len(dropped) > 0 {
		it.Warnings = append(it.Warnings, IgnoredWarning(dropped))
	}
}

// firstText returns the first value that is a text.
func firstText(values ...any) string {
	for _, v := range values {
		if text, ok := v.(string); ok {
			return text
		}
	}
	return ""
}

// isField reports whether a property is a field of every installation's contacts.
func isField(name string) bool { return contact.FieldNamed(name) != nil }
