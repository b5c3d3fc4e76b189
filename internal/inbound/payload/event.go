package payload

import (
	"maps"
	"slices"
	"strings"
	"time"

	"contactbase/internal/contact"
	"contactbase/internal/event"
)

// Chain is what an item knows beyond its fields when it is an event of another Contactbase, so that installations
// can feed each other, even in a circle.
//
// A circle comes to rest after edits that do not overlap, since an event that changes nothing emits nothing. Two
// edits that are faster than the round trip would chase each other for ever, and that is what EventID is for:
// the code that applies an item emits what results under the same id, and skips an item whose id it has emitted before. A
// change then passes each installation once.
type Chain struct {
	EventID    string         // the body's id: of the event that began with somebody's edit
	Type       event.Kind     // contact.created, contact.updated or contact.deleted
	ContactID  string         // the contact's id over there
	ExternalID *string        // its externalId over there; nil = none
	Previous   map[string]any // contact.updated: what the changed fields were; otherwise nil
	UpdatedAt  time.Time      // when it changed over there; zero = unknown
}

// decodeEvent reads the body of an outbound event; false when it is none.
//
// The other installation's contact id does not exist here. It becomes the externalId of the contact here, unless
// the contact has an externalId over there, which is then kept.
func decodeEvent(obj map[string]any) (Payload, bool) {
	eventID, _ := obj["id"].(string)
	typed, _ := obj["type"].(string)
	kind := event.Kind(typed)
	_, stamped := obj["timestamp"].(string)
	if !strings.HasPrefix(eventID, event.IDPrefix) || !stamped {
		return Payload{}, false
	}
	if kind == event.WebhookPing {
		return Payload{Ping: true}, true
	}
	data, ok := obj["data"].(map[string]any)
	if !ok || !slices.Contains([]event.Kind{event.ContactCreated, event.ContactUpdated, event.ContactDeleted}, kind) {
		return Payload{}, false
	}
	contactID, ok := data[FieldID].(string)
	if !ok || contactID == "" {
		return Payload{}, false
	}
	chain := &Chain{EventID: eventID, Type: kind, ContactID: contactID}
	return Payload{Items: []Item{chainedItem(chain, data, obj["previous"])}}, true
}

// chainedItem reads the contact of an event. Its names are our own, so no alias counts.
func chainedItem(chain *Chain, data map[string]any, previous any) Item {
	it := Item{Fields: map[string]any{}, Extra: map[string]any{}, Action: Upsert, Chain: chain}
	if chain.Type == event.ContactDeleted {
		it.Action = Delete
	}
	if stamp, ok := data["updatedAt"].(string); ok {
		chain.UpdatedAt, _ = time.Parse(time.RFC3339, stamp) // the zero time when it is not one
	}
	var dropped []string
	for _, name := range slices.Sorted(maps.Keys(data)) {
		if name == FieldID || ignored[name] {
			continue
		}
		v, err := scalar(data[name])
		switch {
		case isField(name) && err != nil:
			it.fail(err, name)
			return it
		case isField(name):
			it.Fields[name] = v
		case err != nil:
			dropped = append(dropped, name)
		default:
			it.Extra[name] = v
		}
	}
	if len(dropped) > 0 {
		it.Warnings = append(it.Warnings, IgnoredWarning(dropped))
	}
	if old, ok := previous.(map[string]any); ok && chain.Type == event.ContactUpdated {
		chain.Previous = map[string]any{}
		for name, v := range old {
			if v, err := scalar(v); err == nil {
				chain.Previous[name] = v
			}
		}
	}
	chain.ExternalID = stringOrNil(it.Fields[FieldExternalID])
	it.ExternalID = chain.ExternalID
	if it.ExternalID == nil {
		it.ExternalID = &chain.ContactID
	}
	it.Fields[FieldExternalID] = *it.ExternalID
	return it
}

// isField reports whether a property is a field of every installation's contacts.
func isField(name string) bool { return contact.FieldNamed(name) != nil }

// Key is one way to find the contact that an item means.
type Key struct {
	Field    string // "id", "externalId" or "email" (compared without case; the oldest contact where several share it)
	Value    string
	Only     bool // a contact that is not found by this key does not exist: no further key, no creation
	Unlinked bool // only a contact without an externalId counts; see Fits

	names []string // with Unlinked: what the person is called there, and was
	link  link
}

// Fits reports whether a contact that was found by the key is the one. It always is, except that two people may
// share an address: with Unlinked the contact must not be anybody's copy (have an externalId), nor may it have
// another name than the person there.
func (k Key) Fits(local Local) bool {
	if !k.Unlinked {
		return true
	}
	name := local.Values[fieldName]
	return local.Values[FieldExternalID] == "" && (name == "" || len(k.names) == 0 ||
		slices.ContainsFunc(k.names, func(known string) bool { return strings.EqualFold(known, name) }))
}

// link says what becomes of the found contact's externalId.
type link int

const (
	linkAsSent link = iota // the item's, like any other field
	linkSet                // the item's, never cleared
	linkFill               // the item's, if the contact has none
	linkKeep               // the contact's own
)

// Keys lists the ways to find the item's contact, the one to try first first. When none finds one, the item's
// Fields and Extra make a new contact, unless Only says otherwise or the action is Delete.
//
// An ordinary item goes by its id alone when it has one, otherwise by externalId, then by email.
//
// An event of another installation goes by, in this order:
//
//  1. the contact's id there as an id here: the same installation, or a copy restored from a backup;
//  2. its externalId there as an externalId here: both sides know the person by the same outside id, or the
//     contact came from a third installation;
//  3. its externalId there as an id here: the contact over there is a copy of ours that comes back; our externalId stays;
//  4. its id there as an externalId here: ours is the copy;
//  5. what its externalId was before the change, as an externalId and as an id here;
//  6. its email, then what its email was before, if the contact Fits. It gets an externalId, so that the next
//     event finds it by 2 or 4.
//
// A deletion never goes by email: in a circle it would come back to delete the next contact with that address.
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
	Values  map[string]string // by property name, custom fields included; "" or absent = no value
	Updated time.Time
}

// Against reduces an item to what is to be written to the contact that key found: the returned item's Fields and
// Extra. An ordinary item writes all that it sent.
//
// An event of another installation writes only what changed there, lest it undo what changed here since: a field
// that is not in Previous stays. Where both sides changed the same field, the contact that was changed last has its
// way, by the two clocks; when neither side can tell (a tie, or other changes since) each keeps its own. Without
// Previous, as with a contact.created that finds a contact, empty fields are filled and the same goes for the others.
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

// linkValue is the externalId to write to the found contact, if any.
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

// wins reports whether an event's value is to replace the contact's.
func (it Item) wins(name string, v any, local Local) bool {
	next, _ := v.(string)
	now := local.Values[name]
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
	old, _ := was.(string)
	return now == old || later
}
