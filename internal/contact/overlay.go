package contact

import (
	"cmp"
	"slices"
)

// overlay has the contacts that earlier items of a plan have made, changed or deleted, as they are after these items.
// Its maps are nil until there is one.
type overlay struct {
	contacts     map[string]*Contact // by id; nil for a deleted one
	byExternalID map[string]*Contact // those that have one
	shared       map[Key][]*Contact  // by the folded email address, and by the phone number; the oldest first
	holders      map[indexed]string  // the id of the contact that has a key in an admin's unique index
	keys         map[indexed]string  // by a contact's id, its key in such an index; "" for none
	indexes      int                 // that keys has at most
}

// put replaces a contact, nil for a new one, by what it is after an item.
func (o *overlay) put(before, after *Contact) {
	if o.contacts == nil {
		o.contacts, o.byExternalID, o.shared = map[string]*Contact{}, map[string]*Contact{}, map[Key][]*Contact{}
	}
	if before != nil {
		o.drop(before, after.shared())
	}
	o.contacts[after.ID] = after
	if after.ExternalID != "" {
		o.byExternalID[after.ExternalID] = after
	}
	for _, key := range after.shared() {
		if at, found := slices.BinarySearchFunc(o.shared[key], after, byAge); found {
			o.shared[key][at] = after
		} else {
			o.shared[key] = slices.Insert(o.shared[key], at, after)
		}
	}
}

func (o *overlay) delete(c *Contact) {
	o.put(c, &Contact{ID: c.ID})
	o.contacts[c.ID] = nil
	for i := range o.indexes {
		if key := o.keys[indexed{i, c.ID}]; key != "" {
			delete(o.holders, indexed{i, key})
		}
	}
}

// hold notes the keys of a contact in the admin's unique indexes.
func (o *overlay) hold(id string, keys []indexed) {
	if o.holders == nil && len(keys) > 0 {
		o.holders, o.keys = map[indexed]string{}, map[indexed]string{}
	}
	for _, key := range keys {
		o.indexes = max(o.indexes, key.index+1)
		delete(o.holders, indexed{key.index, o.keys[indexed{key.index, id}]})
		o.keys[indexed{key.index, id}] = key.value
		if key.value != "" {
			o.holders[key] = id
		}
	}
}

// stillHolds returns the id of a contact whose stored row has a key in a unique index, "" if an item has changed that.
func (o *overlay) stillHolds(index int, id string) string {
	if _, changed := o.keys[indexed{index, id}]; changed || o.has(id) && o.contacts[id] == nil {
		return ""
	}
	return id
}

// drop forgets how a contact is found, except by the kept ones of its shared keys.
func (o *overlay) drop(c *Contact, kept []Key) {
	if known := o.byExternalID[c.ExternalID]; known != nil && known.ID == c.ID {
		delete(o.byExternalID, c.ExternalID)
	}
	for _, key := range c.shared() {
		at, found := slices.BinarySearchFunc(o.shared[key], c, byAge)
		if !found || slices.Contains(kept, key) {
			continue
		}
		if o.shared[key] = slices.Delete(o.shared[key], at, at+1); len(o.shared[key]) == 0 {
			delete(o.shared, key)
		}
	}
}

// shared returns the keys of a contact that others may have, too.
func (c *Contact) shared() []Key {
	keys := make([]Key, 0, 2)
	if c.Email != "" {
		keys = append(keys, Key{Email, c.Email}.folded())
	}
	if c.Phone != "" {
		keys = append(keys, Key{Phone, c.Phone})
	}
	return keys
}

// has reports whether an item has made, changed or deleted the contact.
func (o *overlay) has(id string) bool {
	_, found := o.contacts[id]
	return found
}

// find returns the contact that a key finds among those of the overlay, nil if there is none.
func (o *overlay) find(key Key) *Contact {
	switch key.Field {
	case ID:
		return o.contacts[key.Value]
	case ExternalID:
		return o.byExternalID[key.Value]
	}
	if found := o.shared[key.folded()]; len(found) > 0 {
		return found[0]
	}
	return nil
}

// oldest returns the oldest of the contacts that are not nil, or nil.
func oldest(contacts ...*Contact) (first *Contact) {
	for _, c := range contacts {
		if first == nil || c != nil && byAge(c, first) < 0 {
			first = c
		}
	}
	return first
}

// byAge compares contacts of a tenant by their creation.
func byAge(a, b *Contact) int {
	return cmp.Or(cmp.Compare(a.Created, b.Created), cmp.Compare(a.ID, b.ID))
}
