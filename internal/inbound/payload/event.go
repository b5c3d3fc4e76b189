package payload

import (
	"maps"
	"slices"
	"strings"
	"time"

	"contactbase/internal/contact"
	"contactbase/internal/event"
)

// Chain is what an item that is an event of another Contactbase knows beyond its fields, so that installations can feed each other,
// even in a circle.
//
// After edits that do not overlap, a circle comes to rest, since an unchanged contact emits no event. Two edits faster than the
// round trip would chase each other forever; EventID prevents this. The code that applies an item emits its events under the same
// id, and skips an item whose id it has emitted before. A change thus passes each installation once.
type Chain struct {
	EventID    string         // the body's id: of the event of the original edit
	Type       event.Kind     // contact.created, contact.updated or contact.deleted
	ContactID  string         // the contact's id in the other installation
	ExternalID *string        // its externalId there; nil = none
	Previous   map[string]any // contact.updated: the old values of the changed fields; otherwise nil
	UpdatedAt  time.Time      // when it changed there; zero = unknown
}

// contactKinds are the kinds of events that change contacts here.
var contactKinds = []event.Kind{event.ContactCreated, event.ContactUpdated, event.ContactDeleted}

// decodeEvent reads the body of an outbound event. It returns false if it is none.
//
// The other installation's contact id does not exist here. It becomes the contact's externalId here, unless the contact has an
// externalId there, which is then kept.
//
// Events about a webhook or a key, and kinds of a later version, need nothing done.
func decodeEvent(obj map[string]any) (Payload, bool) {
	eventID, _ := obj["id"].(string)
	typed, _ := obj["type"].(string)
	kind := event.Kind(typed)
	_, stamped := obj["timestamp"].(string)
	if !strings.HasPrefix(eventID, event.IDPrefix) || !stamped {
		return Payload{}, false
	}
	if prefix, _, _ := strings.Cut(typed, "."); prefix == "webhook" || prefix == "key" || prefix == "contact" && !slices.Contains(contactKinds, kind) {
		return Payload{}, true
	}
	data, ok := obj["data"].(map[string]any)
	if !ok || !slices.Contains(contactKinds, kind) {
		return Payload{}, false
	}
	contactID, ok := data[FieldID].(string)
	if !ok || contactID == "" {
		return Payload{}, false
	}
	chain := &Chain{EventID: eventID, Type: kind, ContactID: contactID}
	return Payload{Items: []Item{chainedItem(chain, data, obj["previous"])}}, true
}

// chainedItem reads the contact of an event. Its names are ours, so no aliases apply.
func chainedItem(chain *Chain, data map[string]any, previous any) Item {
	it := Item{Fields: map[string]any{}, Extra: map[string]any{}, Action: Upsert, Chain: chain}
	if chain.Type == event.ContactDeleted {
		it.Action = Delete
	}
	if stamp, ok := data["updatedAt"].(string); ok {
		chain.UpdatedAt, _ = time.Parse(time.RFC3339, stamp) // the zero time if it is invalid
	}
	var dropped []string
	for _, name := range slices.Sorted(maps.Keys(data)) {
		if name == FieldID || ignored[name] {
			continue
		}
		if isField(name) {
			v, err := scalar(data[name])
			if err != nil {
				it.fail(err, name)
				return it
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
	if old, ok := previous.(map[string]any); ok && chain.Type == event.ContactUpdated {
		chain.readPrevious(old)
	}
	chain.ExternalID = stringOrNil(it.Fields[FieldExternalID])
	it.ExternalID = chain.ExternalID
	if it.ExternalID == nil {
		it.ExternalID = &chain.ContactID
	}
	it.Fields[FieldExternalID] = *it.ExternalID
	return it
}

func (c *Chain) readPrevious(old map[string]any) {
	c.Previous = map[string]any{}
	for name, v := range old {
		if v, err := custom(v); err == nil {
			c.Previous[name] = v
		}
	}
}

// isField reports whether a property is a field of every installation's contacts.
func isField(name string) bool { return contact.FieldNamed(name) != nil }

// Key is one way to find an item's contact.
type Key struct {
	Field    string // "id", "externalId" or "email" (ignoring case; the oldest contact if several share it)
	Value    string
	Only     bool // if this key finds no contact, there is none: try no further key, and create none
	Unlinked bool // only a contact without an externalId counts; see Fits

	names []string // with Unlinked: the person's names there, now and before
	link  link
}

// Fits reports whether a contact found by the key is the right one. It always is, except that two people may share an email
// address. With Unlinked, the contact must not be a copy (have an externalId), nor have a different name than the person there.
func (k Key) Fits(local Local) bool {
	if !k.Unlinked {
		return true
	}
	name := local.Values[fieldName]
	return local.Values[FieldExternalID] == "" && (name == "" || len(k.names) == 0 ||
		slices.ContainsFunc(k.names, func(known string) bool { return strings.EqualFold(known, name) }))
}

// link says what happens to the found contact's externalId.
type link int

const (
	linkAsSent link = iota // the item's, like any other field
	linkSet                // the item's, never cleared
	linkFill               // the item's, if the contact has none
	linkKeep               // the contact's own
)

// Keys lists the ways to find the item's contact, in order. If none finds one, the item's Fields and Extra make a new contact,
// unless Only says otherwise or the action is Delete.
//
// An ordinary item is found by its id alone if it has one, otherwise by externalId, then by email.
//
// An event of another installation is found by, in this order:
//
//  1. the contact's id there, as an id here: the same installation, or a copy restored from a backup;
//  2. its externalId there, as an externalId here: both know the person by the same outside id, or the
//     contact came from a third installation;
//  3. its externalId there, as an id here: the contact there is a copy of ours that comes back; our externalId stays;
//  4. its id there, as an externalId here: ours is the copy;
//  5. its externalId before the change, as an externalId and as an id here;
//  6. its email, then its email before the change, if the contact Fits. It gets an externalId, so that the next
//     event finds it by 2 or 4.
//
// A deletion is never found by email: in a circle it would come back and delete the next contact with that address.
func (it Item) Keys() []Key {
	if it.Chain != nil {
		return it.chainedKeys()
	}
	if it.ID != nil {
		return []Key{{Field: FieldID, Value: *it.ID, Only: true}}
	}
	var keys []Key
	if it.ExternalID != nil {
		keys = append(keys, Key{Field: FieldExternalID, Value: *it.ExternalID})
	}
	if email, ok := it.Fields[FieldEmail].(string); ok {
		keys = append(keys, Key{Field: FieldEmail, Value: email})
	}
	return keys
}

func (it Item) chainedKeys() []Key {
	c := it.Chain
	keys := []Key{{Field: FieldID, Value: c.ContactID}}
	if c.ExternalID != nil {
		keys = append(keys,
			Key{Field: FieldExternalID, Value: *c.ExternalID, link: linkSet},
			Key{Field: FieldID, Value: *c.ExternalID, link: linkKeep})
	}
	keys = append(keys, Key{Field: FieldExternalID, Value: c.ContactID, link: linkSet})
	if was, ok := c.Previous[FieldExternalID].(string); ok {
		keys = append(keys,
			Key{Field: FieldExternalID, Value: was, link: linkSet},
			Key{Field: FieldID, Value: was, link: linkFill})
	}
	if it.Action == Delete {
		return keys
	}
	names := nonEmpty(it.Fields[fieldName], c.Previous[fieldName])
	for _, email := range nonEmpty(it.Fields[FieldEmail], c.Previous[FieldEmail]) {
		keys = append(keys, Key{Field: FieldEmail, Value: email, Unlinked: true, names: names, link: linkFill})
	}
	return keys
}

func nonEmpty(values ...any) []string {
	var out []string
	for _, v := range values {
		if s, ok := v.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

// Local is a contact as it is here.
type Local struct {
	Values  map[string]string // by property name, including custom fields; "" or absent = no value
	Updated time.Time
}

// Against reduces an item to what to write to the contact that key found: the returned item's Fields and Extra. An ordinary item
// writes all that it sent.
//
// An event of another installation writes only what changed there, so that it does not undo local changes: a field that is not in
// Previous stays. If both sides changed the same field, the contact that changed last wins, by the two clocks; if neither side can
// tell (a tie, or other changes since), each keeps its own. Without Previous, as for a contact.created that finds a contact, empty
// fields are filled and the same rule applies to the others.
func (it Item) Against(key Key, local Local) Item {
	if it.Chain == nil {
		return it
	}
	fields, extra := it.Fields, it.Extra
	it.Fields, it.Extra = map[string]any{}, map[string]any{}
	for name, v := range fields {
		if name != FieldExternalID && it.wins(name, v, local) {
			it.Fields[name] = v
		}
	}
	for name, v := range extra {
		if it.wins(name, v, local) {
			it.Extra[name] = v
		}
	}
	if v, write := it.linkValue(key.link, local); write {
		it.Fields[FieldExternalID] = v
	}
	return it
}

// linkValue returns the externalId to write to the found contact, if any.
func (it Item) linkValue(rule link, local Local) (any, bool) {
	has := local.Values[FieldExternalID]
	switch rule {
	case linkAsSent:
		var v any
		if it.Chain.ExternalID != nil {
			v = *it.Chain.ExternalID
		}
		return v, it.wins(FieldExternalID, v, local)
	case linkSet:
		return *it.ExternalID, has != *it.ExternalID
	case linkFill:
		return *it.ExternalID, has == ""
	}
	return nil, false
}

// wins reports whether an event's value replaces the contact's.
func (it Item) wins(name string, v any, local Local) bool {
	next, now := Text(v), local.Values[name]
	if next == now {
		return false
	}
	later := it.Chain.UpdatedAt.IsZero() || it.Chain.UpdatedAt.After(local.Updated)
	if it.Chain.Previous == nil {
		return next != "" && (now == "" || later)
	}
	was, changed := it.Chain.Previous[name]
	if !changed {
		return false
	}
	return now == Text(was) || later
}
