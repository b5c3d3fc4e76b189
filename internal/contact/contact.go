// Package contact owns the contacts: their fields and rules, reading one of them, and every way to change them.
//
// # From an item to a commit
//
// REST, MCP, inbound webhooks and imports describe a change as an Item: an action, the keys that find its contact,
// the new values, and a condition. ParseChanges checks the values first, outside of any transaction. Then a plan
// (plan.go) takes the items one after the other, and decides for each of them:
//
//   - which contact it is about (finder.go), including the changes of earlier items, which the overlay (overlay.go) has
//   - whether the contact would be valid (admin_fields.go, unique.go)
//   - its id and its times (order.go)
//
// A plan only reads. It has a Result for each item, and a change for each contact to write or delete. What follows
// depends on the caller:
//
//   - Request.Commit executes the plan in one transaction, together with what the handler adds, such as a remembered
//     response. A short request shares its commit with other writers.
//   - Write executes it in a transaction of the caller. A Merge plans its own change and its deletions, and has Apply.
//   - Preview drops the changes. DryRun remembers them, so that its later items find these contacts.
//
// execute (execute.go) writes what a plan has decided: the row of each contact, its search row, and the event
// that webhooks and the feed receive (statements.go). What the database refuses fails alone, and the rest is
// planned again. After the commit, announce runs PocketBase's hooks for saved records, which Bind uses to wake
// the delivery engine.
//
// The dashboard and the records API save records instead. Bind adds hooks that apply the same rules to them, and
// write the same search row and event (hooks.go, record.go). Deletions always go through a record, because
// PocketBase's cascade needs one.
//
// # Fields
//
// Fields (field.go) is the table of the shipped fields. All other columns of the collection belong to an admin: a
// schema (schema.go) has both, and the package custom knows the types of the latter.
package contact

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"

	"contactbase/internal/credential"
	"contactbase/internal/fault"
	"contactbase/internal/wire"
)

// CollectionName is the collection of contacts.
const CollectionName = "contacts"

// ErrNotFound means that the tenant has no contact with that id.
var ErrNotFound = fault.New(fault.NotFound, "This contact does not exist.")

// ErrNoTenant means that the tenant was deleted, with its keys, after the caller was authenticated.
var ErrNoTenant = &fault.Error{
	Code: fault.InvalidKey, Message: credential.ErrInvalidKey.Message, Cause: errors.New("the tenant was deleted"),
}

// CustomValue is the value of a field that an admin added to the collection. Value encodes to JSON; nil is "no value".
type CustomValue struct {
	Name  string
	Value any
}

// isEmpty reports whether there is no value. PocketBase stores 0 or false for a number or bool without a value.
func (v CustomValue) isEmpty() bool {
	encoded, err := wire.AppendJSON(nil, v.Value)
	return err == nil && slices.Contains([]string{"null", "0", "false", `""`, "[]"}, string(encoded))
}

// MarshalJSON encodes the contact object of the API.
func (c *Contact) MarshalJSON() ([]byte, error) {
	return c.AppendJSON(nil)
}

var jsonKeys = eachField(func(f *Field) string { return `,"` + f.Name + `":` })

// AppendJSON appends the contact object of the API to b. It has every field; one without a value is null.
func (c *Contact) AppendJSON(b []byte) ([]byte, error) {
	b = append(b, `{"id":`...)
	b = wire.AppendString(b, c.ID)
	for i, field := range Fields {
		b = append(b, jsonKeys[i]...)
		if value := *field.of(c); value == "" {
			b = append(b, "null"...)
		} else {
			b = wire.AppendString(b, value)
		}
	}
	var err error
	for _, custom := range c.Custom {
		b = append(b, ',')
		b = wire.AppendString(b, custom.Name)
		b = append(b, ':')
		if b, err = wire.AppendJSON(b, custom.Value); err != nil {
			return nil, err
		}
	}
	b = append(b, `,"createdAt":"`...)
	b = append(b, c.Created...)
	b = append(b, `","updatedAt":"`...)
	b = append(b, c.Updated...)
	return append(b, `"}`...), nil
}

// ETag returns the entity tag of the contact: it changes with every visible change.
func (c *Contact) ETag() (string, error) {
	encoded, err := c.AppendJSON(make([]byte, 0, 512))
	if err != nil {
		return "", err
	}
	return Tag(encoded), nil
}

// Tag returns the strong entity tag of an encoded contact, quotes included.
func Tag(encoded []byte) string {
	sum := sha256.Sum256(encoded)
	return `"` + hex.EncodeToString(sum[:12]) + `"`
}

// differing returns the indexes in Fields of the fields in which the contacts differ.
func (c *Contact) differing(other *Contact) []int {
	var indexes []int
	for i, field := range Fields {
		if *field.of(c) != *field.of(other) {
			indexes = append(indexes, i)
		}
	}
	return indexes
}

// Values returns the writable fields by name, for comparing two states of a contact.
func (c *Contact) Values() map[string]any {
	values := map[string]any{}
	for _, field := range Fields {
		values[field.Name] = textOrNil(*field.of(c))
	}
	for _, custom := range c.Custom {
		values[custom.Name] = custom.Value
	}
	return values
}

// Previous returns the fields of old whose values differ in c, with their old values. It is empty if no field that
// callers can see and write has changed.
func (c *Contact) Previous(old *Contact) map[string]any {
	changed := map[string]any{}
	for _, i := range c.differing(old) {
		changed[Fields[i].Name] = textOrNil(*Fields[i].of(old))
	}
	for _, before := range old.Custom {
		now := slices.IndexFunc(c.Custom, func(v CustomValue) bool { return v.Name == before.Name })
		if now < 0 || !sameValue(before.Value, c.Custom[now].Value) {
			changed[before.Name] = before.Value
		}
	}
	return changed
}

func sameValue(a, b any) bool {
	if as, ok := a.(string); ok {
		bs, ok := b.(string)
		return ok && as == bs
	}
	encodedA, errA := json.Marshal(a)
	encodedB, errB := json.Marshal(b)
	return errA == nil && errB == nil && bytes.Equal(encodedA, encodedB)
}

func textOrNil(s string) any {
	if s == "" {
		return nil
	}
	return s
}
