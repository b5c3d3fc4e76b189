// Package member knows the people of a tenant: they sign in and manage its keys and webhooks themselves,
// without a superuser.
package member

import (
	"github.com/pocketbase/pocketbase/core"
)

// CollectionName is the auth collection of members. A portal link's record has `link` set and belongs to no person.
const CollectionName = "tenant_members"

// The roles.
const (
	RoleAdmin  = "admin"  // manages keys, webhooks and members
	RoleViewer = "viewer" // only looks
)

// The values of `notify`: when a member receives mail about the tenant's webhooks and keys.
const (
	NotifyImmediately = "immediately"
	NotifyDaily       = "daily"
	NotifyNever       = "never"
)

// Is reports whether an authenticated record is a member; record may be nil.
func Is(record *core.Record) bool { return record != nil && record.Collection().Name == CollectionName }

// TenantOf returns the id of a member's tenant.
func TenantOf(record *core.Record) string { return record.GetString("tenant") }

// IsAdmin reports whether a member manages the tenant's keys and webhooks.
func IsAdmin(record *core.Record) bool { return record.GetString("role") == RoleAdmin }

// IsLink reports whether a record is that of a portal link.
func IsLink(record *core.Record) bool { return record.GetBool("link") }
