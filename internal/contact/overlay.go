package contact

import (
	"cmp"
	"slices"

	"contactbase/internal/contact/search"
)

// overlay has the contacts that earlier items of a plan have made, changed or deleted, as they are after these items. Its maps are nil until
// there is one.
type overlay struct {
	contacts     map[string]*Contact   // by id; nil for a deleted one
	byExternalID map[string]*Contact   // those that have one
	byEmail      map[string][]*Contact // by the folded address
	holders      map[indexed]string    // the id of the contact that has a key in an admin's unique index
	keys         map[indexed]string    // by a contact's id, its key in such an index; "" for none
}

// put replaces a contact, nil for a new one, by what it is after an item.
func (o *overlay) put(before, after *Contact) {
	if o.contacts == nil {
		o.contacts, o.byExternalID, o.byEmail = map[string]*Contact{}, map[string]*Contact{}, map[string][]*Contact{}
	}
	if before != nil {
		o.drop(before)
	}
	o.contacts[after.ID] = after
	if after.ExternalID != "" {
		o.byExternalID[after.ExternalID] = after
	}
	if email := search.FoldEmail(after.Email); email != "" {
		o.byEmail[email] = append(o.byEmail[email], after)
	}
}

func (o *overlay) delete(c *Contact) {
	o.put(c, &Contact{ID: c.ID})
	o.contacts[c.ID] = nil
	for in, key := range o.keys {
		if in.value == c.ID {
			delete(o.holders, indexed{in.index, key})
		}
	}
}

// hold notes the keys of a contact in the admin's unique indexes.
func (o *overlay) hold(id string, keys []indexed) {
	if o.holders == nil && len(keys) > 0 {
		o.holders, o.keys = map[indexed]string{}, map[indexed]string{}
	}
	for _, key := range keys {
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

// drop forgets how a contact is found.
func (o *overlay) drop(c *Contact) {
	if known := o.byExternalID[c.ExternalID]; known != nil && known.ID == c.ID {
		delete(o.byExternalID, c.ExternalID)
	}
	email := search.FoldEmail(c.Email)
	if len(o.byEmail[email]) > 0 {
		o.byEmail[email] = slices.DeleteFunc(o.byEmail[email], func(other *Contact) bool { return other.ID == c.ID })
	}
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
	default:
		return oldest(o.byEmail[search.FoldEmail(key.Value)]...)
	}
}

// oldest returns the oldest of the contacts that are not nil, or nil.
func oldest(contacts ...*Contact) (first *Contact) {
	for _, c := range contacts {
		if first == nil || c != nil && cmp.Or(cmp.Compare(c.Created, first.Created), cmp.Compare(c.ID, first.ID)) < 0 {
			first = c
		}
	}
	return first
}
