package contact

import (
	"database/sql"
	"maps"
	"slices"

	"contactbase/internal/contact/search"
	"contactbase/internal/sqlite"
)

// find returns the contact of the first key that finds one, as earlier items have left it, and nil if none does.
func (p *plan) find(keys []Key) (*Contact, error) {
	for _, key := range keys {
		found, err := p.findBy(key)
		if found != nil || err != nil {
			return found, err
		}
	}
	return nil, nil
}

func (p *plan) findBy(key Key) (*Contact, error) {
	if key.Value == "" {
		return nil, nil
	}
	made := p.made.find(key)
	if made != nil && !key.isShared() || key.Field == ID && p.made.has(key.Value) {
		return made, nil
	}
	stored, err := p.findStored(key)
	return oldest(made, stored), err
}

// findStored returns the contact that a key finds among those that no item has changed, or that items of earlier calls
// have changed, nil if there is none.
func (p *plan) findStored(key Key) (*Contact, error) {
	key = key.folded()
	found, err := p.first(p.tx, p.stored, key, func(id string) (bool, error) { return p.passes(key, id) })
	if p.earlier == nil || err != nil {
		return found, err
	}
	earlier, err := p.first(p.earlier, p.kept, key, func(id string) (bool, error) { return p.made.has(id), nil })
	return oldest(found, earlier), err
}

// first returns the first contact that a folded key finds in a database, beginning with the known one, and that is not
// to be passed over; nil if there is none. That one is known afterwards: many items may have the key, and each contact
// is passed over once, not once for each of them.
func (p *plan) first(
	tx sqlite.Reader, known prefetch, key Key, passes func(id string) (bool, error),
) (*Contact, error) {
	found, isKnown := known[key]
	var err error
	if !isKnown {
		found, err = p.read(tx, key, "")
	}
	for found != nil && err == nil {
		var isPassed bool
		if isPassed, err = passes(found.ID); err != nil || !isPassed {
			break
		}
		if !key.isShared() {
			return nil, nil
		}
		if found, err = p.read(tx, key, found.ID); err == nil && known != nil {
			known[key] = found
		}
		if err == nil && p.ended != nil {
			err = p.ended()
		}
	}
	if err != nil {
		return nil, err
	}
	return found, nil
}

// passes reports whether an item has changed the stored contact that a folded key finds. If so, a dry run looks behind
// it from then on.
func (p *plan) passes(key Key, id string) (bool, error) {
	changed, err := p.isChanged(id)
	if changed && p.earlier != nil && key.isShared() {
		p.passed[key.text()] = id
	}
	return changed, err
}

// isChanged reports whether an item has made, changed or deleted the contact, also one of an earlier call.
func (p *plan) isChanged(id string) (bool, error) {
	if p.made.has(id) {
		return true, nil
	}
	return p.isEarlier(id)
}

// isEarlier reports whether an item of an earlier call has made or changed the contact.
func (p *plan) isEarlier(id string) (bool, error) {
	if p.earlier == nil {
		return false, nil
	}
	return sqlite.Value[bool](p.earlier, "SELECT EXISTS (SELECT 1 FROM `contacts` WHERE `id` = ?)", id)
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

// text returns the key as one text.
func (k Key) text() string { return k.Field + " " + k.Value }

// read reads the contact that a folded key finds behind another one, or the first if that is "". It returns nil if
// there is none.
func (p *plan) read(tx sqlite.Reader, key Key, behind string) (*Contact, error) {
	by := oneBy[key.Field]
	if behind != "" {
		by = nextBy[key.Field]
	}
	found, err := p.query(tx, p.adminFields, func(columns string) (string, []any) {
		args := []any{p.tenantID, key.Value}
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

// prefetch has the contacts, nil for none, that keys find. Email addresses are folded.
type prefetch map[Key]*Contact

// manyBy has the rest of a SELECT that finds the contacts of many keys, in the order of the keys. Its parameters are the tenant and a list of
// keys.
var manyBy = map[string]string{
	ID:         "json_each(?2) j CROSS JOIN `contacts` c ON c.`id` = j.`value` WHERE c.`tenant` = ?1",
	ExternalID: "json_each(?2) j CROSS JOIN `contacts` c ON c.`tenant` = ?1 AND c.`externalId` = j.`value` AND c.`externalId` != ''",
	Email: "json_each(?2) j CROSS JOIN `contacts` c ON c.`id` = (SELECT s.`contact` FROM `_contactSearch` s " +
		"WHERE s.`tenant` = ?1 AND s.`email` = j.`value` AND s.`email` != '' ORDER BY s.`seq` LIMIT 1)",
	Phone: "json_each(?2) j CROSS JOIN `contacts` c ON c.`id` = (SELECT o.`id` FROM `contacts` o " +
		"WHERE o.`tenant` = ?1 AND o.`phone` = j.`value` AND o.`phone` != '' ORDER BY o.`created`, o.`id` LIMIT 1)",
}

// keysOf returns the keys of the items, and the external ids that they set.
func keysOf(items []Item) prefetch {
	keys := prefetch{}
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
func (p *plan) load(items []Item) (err error) {
	keys := keysOf(items)
	if p.stored, err = p.prefetch(p.tx, keys); err == nil && p.earlier != nil {
		if p.kept, err = p.prefetch(p.earlier, keys); err == nil {
			err = p.resume()
		}
	}
	return err
}

// resume begins the look-ups of a dry run behind the contacts that earlier calls have passed over.
func (p *plan) resume() error {
	p.passed = map[string]string{}
	shared := map[string]Key{}
	for key := range p.stored {
		if key.isShared() {
			shared[key.text()] = key
		}
	}
	const passedSQL = "SELECT `key`, `contact` FROM `passed` WHERE `key` IN (SELECT `value` FROM json_each(?))"
	err := sqlite.Each(p.earlier, passedSQL, func(rows *sql.Rows) error {
		key, contact := "", ""
		err := rows.Scan(&key, &contact)
		p.passed[key] = contact
		return err
	}, sqlite.List(slices.Collect(maps.Keys(shared))))
	for text, contact := range p.passed {
		if err == nil {
			p.stored[shared[text]], err = p.read(p.tx, shared[text], contact)
		}
	}
	return err
}

func (p *plan) prefetch(tx sqlite.Reader, keys prefetch) (prefetch, error) {
	all := maps.Clone(keys)
	for _, field := range []string{ID, ExternalID, Email, Phone} {
		var values []string
		for key := range all {
			if key.Field == field {
				values = append(values, key.Value)
			}
		}
		if len(values) == 0 {
			continue
		}
		found, err := p.query(tx, p.adminFields, func(columns string) (string, []any) {
			return "SELECT " + columns + " FROM " + manyBy[field], []any{p.tenantID, sqlite.List(values)}
		})
		if err != nil {
			return nil, err
		}
		for _, c := range found {
			value := map[string]string{ID: c.ID, ExternalID: c.ExternalID, Email: search.FoldEmail(c.Email), Phone: c.Phone}[field]
			all[Key{field, value}] = c
		}
	}
	return all, nil
}

// checkExternalID checks that no other contact has the external id of a contact. The error is a fault.Fields if one has it.
func (p *plan) checkExternalID(c *Contact) error {
	if c.ExternalID == "" {
		return nil
	}
	other, err := p.findBy(Key{ExternalID, c.ExternalID})
	if err == nil && other != nil {
		err = errExternalIDTaken
	}
	return err
}
