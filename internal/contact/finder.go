package contact

import (
	"cmp"
	"maps"

	"contactbase/internal/contact/search"
	"contactbase/internal/sqlite"
)

// finder finds the contacts of a tenant as the items of a plan have left them. Those that items have changed are in the
// overlay; the others are in the database.
type finder struct {
	*schema
	tx       sqlite.Reader
	tenantID string

	made   overlay
	ahead  map[Key]*Contact // what load has read: see findStored
	passed map[Key]string   // by a shared key, the last stored contact with it that was passed over
	ended  func() error     // of a check: why a long look-up ends early; nil for never

	leads map[Key]string  // what loadLeads has read
	taken map[string]bool // the external ids that items have set, and that led to another contact before
}

// findAny returns the contact of the first key that finds one, and nil if none does. It reports whether the contact
// remained when the one of the key was merged into it.
func (f *finder) findAny(keys []Key) (found *Contact, followed bool, err error) {
	for _, key := range keys {
		if found, err = f.find(key); found != nil || err != nil {
			return found, false, err
		}
		if found, err = f.follow(key); found != nil || err != nil {
			return found, true, err
		}
	}
	return nil, false, nil
}

// find returns the contact that a key finds, the oldest if there are several, and nil if there is none.
func (f *finder) find(key Key) (*Contact, error) {
	if key.Value == "" {
		return nil, nil
	}
	key = key.folded()
	made := f.made.find(key)
	if made != nil && !key.isShared() || key.Field == ID && f.made.has(key.Value) {
		return made, nil
	}
	stored, err := f.findStored(key)
	return oldest(made, stored), err
}

// findStored returns the first stored contact of a folded key that no item has changed, nil if there is none. Many
// items may have the key, so it passes over each contact once, not once for each of them.
func (f *finder) findStored(key Key) (*Contact, error) {
	found, known := f.ahead[key]
	var err error
	if !known {
		found, err = f.read(key, f.passed[key])
	}
	for err == nil && found != nil && f.made.has(found.ID) {
		if !key.isShared() {
			return nil, nil
		}
		f.pass(key, found.ID)
		if found, err = f.read(key, found.ID); err == nil && f.ended != nil {
			err = f.ended()
		}
	}
	if err != nil {
		return nil, err
	}
	if f.ahead != nil {
		f.ahead[key] = found
	}
	return found, nil
}

// findsOthers reports whether a key finds other contacts than the one that it has found first. Many items may ask, so
// it passes over each contact that an item has changed once for each found one.
func (f *finder) findsOthers(key Key, found *Contact) (bool, error) {
	key = key.folded()
	if !key.isShared() {
		return false, nil
	}
	for _, made := range f.made.shared[key] {
		if made.ID != found.ID {
			return true, nil
		}
	}
	first, err := f.findStored(key)
	if err != nil || first == nil || first.ID != found.ID {
		return first != nil, err
	}
	behind := Key{"behind", found.ID}
	for {
		other, err := f.read(key, cmp.Or(f.passed[behind], found.ID))
		if err != nil || other == nil || !f.made.has(other.ID) {
			return other != nil, err
		}
		f.pass(behind, other.ID)
	}
}

func (f *finder) pass(key Key, id string) {
	if f.passed == nil {
		f.passed = map[Key]string{}
	}
	f.passed[key] = id
	delete(f.ahead, key)
}

// isShared reports whether several contacts may have the key.
func (k Key) isShared() bool { return k.Field == Email || k.Field == Phone }

// folded returns the key with an email address as it is stored in search rows.
func (k Key) folded() Key {
	if k.Field == Email {
		k.Value = search.FoldEmail(k.Value)
	}
	return k
}

// read reads the contact that a folded key finds behind another one, or the first if that is "". It returns nil if
// there is none.
func (f *finder) read(key Key, behind string) (*Contact, error) {
	by := oneBy[key.Field]
	if behind != "" {
		by = nextBy[key.Field]
	}
	found, err := f.query(f.tx, f.adminFields, func(columns string) (string, []any) {
		args := []any{f.tenantID, key.Value}
		if behind != "" {
			args = append(args, behind)
		}
		return "SELECT " + columns + " FROM " + by, args
	})
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return found[0], nil
}

// manyBy has the rest of a SELECT that finds the contacts of many keys, in the order of the keys. Its parameters are
// the tenant and a list of keys.
var manyBy = map[string]string{
	ID: "json_each(?2) j CROSS JOIN `contacts` c ON c.`id` = j.`value` WHERE c.`tenant` = ?1",
	ExternalID: "json_each(?2) j CROSS JOIN `contacts` c ON c.`tenant` = ?1 " +
		"AND c.`externalId` = j.`value` AND c.`externalId` != ''",
	Email: "json_each(?2) j CROSS JOIN `contacts` c ON c.`id` = (SELECT s.`contact` FROM `_contactSearch` s " +
		"WHERE s.`tenant` = ?1 AND s.`email` = j.`value` AND s.`email` != '' ORDER BY s.`seq` LIMIT 1)",
	Phone: "json_each(?2) j CROSS JOIN `contacts` c ON c.`id` = (SELECT o.`id` FROM `contacts` o " +
		"WHERE o.`tenant` = ?1 AND o.`phone` = j.`value` AND o.`phone` != '' ORDER BY o.`created`, o.`id` LIMIT 1)",
}

// keysOf returns the folded keys of the items, and the external ids that they set, without contacts.
func keysOf(items []Item) map[Key]*Contact {
	keys := map[Key]*Contact{}
	for _, item := range items {
		for _, key := range item.Keys {
			keys[key.folded()] = nil
		}
		for _, changes := range []Changes{item.Changes, item.New} {
			externalID, _ := changes[ExternalID].(string)
			keys[Key{ExternalID, externalID}] = nil
		}
	}
	maps.DeleteFunc(keys, func(key Key, _ *Contact) bool { return key.Value == "" })
	return keys
}

// load reads the contacts that many items may find, and those that have the external ids that they set.
func (f *finder) load(items []Item) error {
	f.ahead = keysOf(items)
	values := map[string][]string{}
	for key := range f.ahead {
		if _, isPassed := f.passed[key]; isPassed {
			delete(f.ahead, key) // it is looked up behind that contact
		} else {
			values[key.Field] = append(values[key.Field], key.Value)
		}
	}
	for field, values := range values {
		found, err := f.query(f.tx, f.adminFields, func(columns string) (string, []any) {
			return "SELECT " + columns + " FROM " + manyBy[field], []any{f.tenantID, sqlite.List(values)}
		})
		if err != nil {
			return err
		}
		for _, c := range found {
			f.ahead[Key{field, valueOf(c, field)}.folded()] = c
		}
	}
	return f.loadLeads()
}

// valueOf returns the value of a contact that a key of the field finds.
func valueOf(c *Contact, field string) string {
	if field == ID {
		return c.ID
	}
	return FieldNamed(field).Value(c)
}

// checkExternalID checks that no other contact has the external id that a contact gets. The error is a
// fault.Fields if one has it.
func (p *plan) checkExternalID(c *change) error {
	key := Key{ExternalID, c.after.ExternalID}
	other, err := p.find(key)
	if err == nil && other != nil {
		err = errExternalIDTaken
	}
	if err != nil {
		return err
	}
	led, err := p.lead(key)
	c.takesOver = led != "" && led != c.after.ID
	return err
}
