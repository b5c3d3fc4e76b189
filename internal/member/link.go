package member

import (
	"context"
	"fmt"
	"time"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/credential"
	"contactbase/internal/fault"
	"contactbase/internal/recordid"
	"contactbase/internal/sqlite"
	"contactbase/internal/stamp"
	"contactbase/internal/tenant"
)

// How long a portal link works.
const (
	MinLinkDuration     = 5 * time.Minute
	MaxLinkDuration     = 24 * time.Hour
	DefaultLinkDuration = time.Hour
)

// linkDomain is the domain of the links' email addresses, which PocketBase requires. Nothing can be sent
// to it (RFC 2606).
const linkDomain = "portal.invalid"

// noPassword is the hash of no password: links have a token. Hashing one for each would let a key that creates links
// keep a processor busy.
const noPassword = "!"

// LinkOptions says what a portal link allows.
type LinkOptions struct {
	Role     string        // RoleAdmin or RoleViewer
	Name     string        // shown in the portal and in the list of members, such as that of the CRM's user
	Duration time.Duration // between MinLinkDuration and MaxLinkDuration

	Key *credential.Identity // of the key that creates it, with which it ends; nil for none
}

// Link opens a tenant's portal without a password until it expires. It is a member record of its own, so that
// deleting the record ends the link.
type Link struct {
	ID      string // of the record
	Token   string // an auth token, which PocketBase does not refresh
	URL     string // with the token in its fragment, which browsers do not send to servers
	Expires time.Time
}

// HasEnded reports whether an authenticated record is that of a link whose time, or whose key, has ended. Its token may
// be valid for longer: the key may have been given an earlier end. record may be nil.
func HasEnded(record *core.Record, now time.Time) bool {
	if !Is(record) || !IsLink(record) {
		return false
	}
	expires := record.GetDateTime("expires")
	return !expires.IsZero() && !now.Before(expires.Time())
}

// PermitKey checks the tenant's API access, and that a key may create links with the role; "" is any role.
func PermitKey(key *credential.Identity, role string) error {
	switch {
	case !key.APIEnabled:
		return tenant.ErrNotEnabled
	case key.Allows(credential.PortalLinkAdmin), role != RoleAdmin && key.Allows(credential.PortalLink):
		return nil
	case role == RoleAdmin && key.Allows(credential.PortalLink):
		return fault.New(fault.MissingPermission, "This key lacks the permission "+string(credential.PortalLinkAdmin)+
			". With "+string(credential.PortalLink)+", it creates links of the role viewer.")
	default:
		return fault.New(fault.MissingPermission, "This key lacks the permission "+string(credential.PortalLink)+".")
	}
}

// NewLink creates a portal link. The error is sql.ErrNoRows if the tenant does not exist, or that of tenant.Writable,
// or of PermitKey, or credential.ErrInvalidKey.
func NewLink(app core.App, tenantID string, options LinkOptions, now time.Time) (*Link, error) {
	collection, err := app.FindCachedCollectionByNameOrId(CollectionName)
	if err != nil {
		return nil, fmt.Errorf("finding the collection of members: %w", err)
	}
	record := core.NewRecord(collection)
	record.Id = recordid.New(now)
	record.Set("tenant", tenantID)
	record.Set("role", options.Role)
	record.Set("name", options.Name)
	record.Set("link", true)
	record.Set("notify", NotifyNever) // nobody reads its address
	if options.Key != nil {
		record.Set("key", options.Key.KeyID)
	}
	record.SetEmail(record.Id + "@" + linkDomain)
	record.SetVerified(true)
	record.SetRaw(core.FieldNamePassword, &core.PasswordFieldValue{Hash: noPassword})
	record.RefreshTokenKey()
	var expires time.Time
	err = app.RunInTransaction(func(tx core.App) error {
		if _, err := tx.FindRecordById(tenant.CollectionName, tenantID); err != nil {
			return err
		}
		if expires, err = options.expires(sqlite.ReaderOf(tx), now); err != nil {
			return err
		}
		if err := deleteEnded(tx, tenantID, now); err != nil {
			return err
		}
		record.Set("expires", expires)
		if err := tenant.Writable(sqlite.ReaderOf(tx), tenantID); err != nil {
			return err
		}
		return tx.Save(record)
	})
	if err != nil {
		return nil, fmt.Errorf("creating a portal link of the tenant %q: %w", tenantID, err)
	}
	token, err := record.NewStaticAuthToken(expires.Sub(now))
	if err != nil {
		return nil, fmt.Errorf("creating the token of a portal link: %w", err)
	}
	return &Link{
		ID: record.Id, Token: token, URL: portalAddress(app) + "#token=" + token,
		Expires: record.GetDateTime("expires").Time(),
	}, nil
}

// expires returns when a link that is created now ends: at the latest with its key. It repeats the checks of the key in
// the transaction that creates the link: the key may have ended while the request waited.
func (o *LinkOptions) expires(tx sqlite.Reader, now time.Time) (time.Time, error) {
	expires := now.Add(o.Duration)
	if o.Key == nil {
		return expires, nil
	}
	present, err := o.Key.Confirm(tx, now)
	if err != nil {
		return expires, err
	}
	if end := present.Expires(); !end.IsZero() && end.Before(expires) {
		expires = end
	}
	return expires, PermitKey(present, o.Role)
}

// RevokeLinks ends all portal links of a tenant, and returns how many there were. The error is sql.ErrNoRows if the
// tenant does not exist.
func RevokeLinks(ctx context.Context, app core.App, tenantID string) (revoked int, err error) {
	if _, err := app.FindRecordById(tenant.CollectionName, tenantID); err != nil {
		return 0, err
	}
	err = sqlite.InChunks(ctx, app, func(tx core.App, limit int) (int, error) {
		var links []*core.Record
		query := tx.RecordQuery(CollectionName).AndWhere(dbx.HashExp{"tenant": tenantID, "link": true})
		if err := query.Limit(int64(limit)).All(&links); err != nil {
			return 0, err
		}
		for _, link := range links {
			if err := tx.Delete(link); err != nil {
				return 0, err
			}
		}
		revoked += len(links)
		return len(links), nil
	})
	if err != nil {
		return 0, fmt.Errorf("revoking the portal links of the tenant %q: %w", tenantID, err)
	}
	return revoked, nil
}

// endedAtOnce is how many links that have ended the creation of one deletes.
const endedAtOnce = 10

// deleteEnded deletes a few links of a tenant that have ended. With each creation, it keeps a tenant from having
// thousands, which would all end with the key that made them, in its transaction.
func deleteEnded(tx core.App, tenantID string, now time.Time) error {
	_, err := sqlite.Exec(tx, "DELETE FROM `tenant_members` WHERE rowid IN (SELECT rowid FROM `tenant_members` "+
		"WHERE `tenant` = ? AND `link` = 1 AND `expires` > '' AND `expires` < ? LIMIT ?)",
		tenantID, stamp.Stored(now), endedAtOnce)
	if err != nil {
		return fmt.Errorf("deleting ended portal links: %w", err)
	}
	return nil
}

// PruneLinks deletes up to limit records of links that have expired, and returns how many it deleted. Nothing refers
// to them: a link never signs in.
func PruneLinks(tx core.App, limit int, now time.Time) (int, error) {
	deleted, err := sqlite.Exec(tx, "DELETE FROM `tenant_members` WHERE rowid IN ("+
		"SELECT rowid FROM `tenant_members` WHERE `link` = 1 AND `expires` != '' AND `expires` < ? LIMIT ?)",
		stamp.Stored(now), limit)
	if err != nil {
		return 0, fmt.Errorf("deleting expired portal links: %w", err)
	}
	return deleted, nil
}
