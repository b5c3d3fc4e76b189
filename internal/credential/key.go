package credential

import (
	"fmt"
	"time"

	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/types"
)

// CollectionName is the collection of API keys.
const CollectionName = "api_keys"

// Permission is what a key may do.
type Permission string

// The permissions of a key. A key that names none has both.
const (
	ContactsRead  Permission = "contacts:read"
	ContactsWrite Permission = "contacts:write"
)

// mintedKey is where a record carries its plaintext from minting to the one answer that shows it. Names that start
// with @ are no fields: they are neither stored nor sent.
const mintedKey = "@minted"

// Key is the record proxy of a row in the collection of API keys.
type Key struct {
	core.BaseRecordProxy
}

// NewKey returns a key that is not saved yet. Saving it mints it.
func NewKey(app core.App) (*Key, error) {
	collection, err := app.FindCachedCollectionByNameOrId(CollectionName)
	if err != nil {
		return nil, fmt.Errorf("finding the collection of API keys: %w", err)
	}
	return KeyOf(core.NewRecord(collection)), nil
}

// KeyOf wraps a record of the collection of API keys.
func KeyOf(record *core.Record) *Key {
	k := &Key{}
	k.SetProxyRecord(record)
	return k
}

// Tenant is the id of the tenant whose data the key opens.
func (k *Key) Tenant() string { return k.GetString("tenant") }

// SetTenant sets the tenant by its id.
func (k *Key) SetTenant(id string) { k.Set("tenant", id) }

// Name is what an admin calls the key.
func (k *Key) Name() string { return k.GetString("name") }

// SetName sets what an admin calls the key.
func (k *Key) SetName(name string) { k.Set("name", name) }

// Permissions lists what the key may do; none means everything.
func (k *Key) Permissions() []string { return k.GetStringSlice("permissions") }

// SetPermissions sets what the key may do; none means everything.
func (k *Key) SetPermissions(permissions []string) { k.Set("permissions", permissions) }

// Prefix is the part of the key that is shown in lists.
func (k *Key) Prefix() string { return k.GetString("prefix") }

// Expires is when the key ends; the zero value means never.
func (k *Key) Expires() types.DateTime { return k.GetDateTime("expires") }

// SetExpires sets when the key ends.
func (k *Key) SetExpires(at time.Time) { k.Set("expires", at) }

// Revoked is when the key was revoked; the zero value means it is not.
func (k *Key) Revoked() types.DateTime { return k.GetDateTime("revoked") }

// Revoke ends the key.
func (k *Key) Revoke(at time.Time) { k.Set("revoked", at) }

// MintKey gives the key a new plaintext, which Minted returns for as long as this instance of the record lives.
func MintKey(record *core.Record) {
	mint(record, KeyPrefix, "hash")
}

// MintToken gives an inbound webhook a new token, as MintKey does for a key.
func MintToken(record *core.Record) {
	mint(record, TokenPrefix, "tokenHash")
}

// Minted returns the plaintext that was minted for this instance of the record, and "" where none was.
func Minted(record *core.Record) string {
	plain, _ := record.GetRaw(mintedKey).(string)
	return plain
}

func mint(record *core.Record, prefix, hashField string) {
	plain := Mint(prefix)
	record.Set(hashField, Hash(plain))
	record.Set("prefix", Shown(plain))
	record.SetRaw(mintedKey, plain)
}
