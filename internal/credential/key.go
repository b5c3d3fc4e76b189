package credential

import (
	"slices"
	"time"

	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/types"
)

// CollectionName is the collection of API keys.
const CollectionName = "api_keys"

// Permission is what a key may do.
type Permission string

// The permissions of a key. A key that names none reads and writes contacts.
const (
	ContactsRead   Permission = "contacts:read"
	ContactsWrite  Permission = "contacts:write"
	ContactsDelete Permission = "contacts:delete"

	PortalLink      Permission = "portal:link"       // creates portal links of viewers
	PortalLinkAdmin Permission = "portal:link-admin" // creates portal links of viewers and admins
)

// Permissions are all permissions.
var Permissions = []Permission{ContactsRead, ContactsWrite, ContactsDelete, PortalLink, PortalLinkAdmin}

// ByDefault are the permissions of a key that names none.
var ByDefault = []Permission{ContactsRead, ContactsWrite}

// IsGuarded reports whether a key's record has a permission that no key has by default. Only people who have signed in
// grant such a permission, and change or rotate a key that has it.
func IsGuarded(record *core.Record) bool {
	return slices.ContainsFunc(record.GetStringSlice("permissions"), func(name string) bool {
		return !slices.Contains(ByDefault, Permission(name))
	})
}

// mintedKey is where a record carries its plaintext from minting to the one response that shows it. Names that start
// with @ are not fields: they are neither stored nor sent.
const mintedKey = "@minted"

// RotatedMark is the custom value that marks a record whose key, token or secret is being rotated. The hooks that
// refuse secrets from clients accept it.
const RotatedMark = "@rotated"

// Key is the proxy of an API key's record.
type Key struct {
	core.BaseRecordProxy
}

// KeyOf wraps the record of an API key.
func KeyOf(record *core.Record) *Key {
	k := &Key{}
	k.SetProxyRecord(record)
	return k
}

// Prefix returns the part of the key that lists show.
func (k *Key) Prefix() string { return k.GetString("prefix") }

// Expires returns when the key expires, the zero value for never.
func (k *Key) Expires() types.DateTime { return k.GetDateTime("expires") }

// SetExpires sets when the key expires.
func (k *Key) SetExpires(at time.Time) { k.Set("expires", at) }

// Revoked returns when the key was revoked, the zero value if it was not.
func (k *Key) Revoked() types.DateTime { return k.GetDateTime("revoked") }

// Revoke revokes the key.
func (k *Key) Revoke(at time.Time) { k.Set("revoked", at) }

// MintKey gives the key a new plaintext, which Minted returns for this instance of the record.
func MintKey(record *core.Record) {
	mint(record, KeyPrefix, "hash")
}

// MintToken gives an inbound webhook a new token, which Minted returns for this instance of the record.
func MintToken(record *core.Record) {
	mint(record, TokenPrefix, "tokenHash")
}

// Minted returns the plaintext that was minted for this instance of the record, "" if none.
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
