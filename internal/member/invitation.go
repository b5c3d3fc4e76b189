package member

import (
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/credential"
	"contactbase/internal/fault"
	"contactbase/internal/sqlite"
	"contactbase/internal/stamp"
	"contactbase/internal/tenant"
)

// InvitationDuration is how long an invitation works.
const InvitationDuration = 72 * time.Hour

// Invitation lets a member choose a password, once. A newer one, a new address, role or password, or the member's
// deletion ends it.
type Invitation struct {
	Email   string // of the member
	Tenant  string // the tenant's name
	URL     string // with the token in its fragment, which browsers do not send to servers
	Expires time.Time
}

var errExpired = fault.New(fault.InvitationExpired,
	"This invitation was used, replaced, or has expired. Ask for a new one.")

// HasAccepted reports whether a member has ever chosen a password.
func HasAccepted(record *core.Record) bool { return record.GetBool("accepted") }

// SetAccepted notes that a member has chosen a password.
func SetAccepted(record *core.Record) { record.Set("accepted", true) }

// ProgramFields are the fields of a member that only the program writes.
var ProgramFields = []string{"accepted", "invitedUntil", "invitationHash", "invitationMailed", "key"}

// Invite creates an invitation. mailed says that only the member will get its token, by mail, which thus proves the
// address. The error is sql.ErrNoRows if there is no such member, or that of tenant.Writable.
func Invite(app core.App, id string, mailed bool, now time.Time) (*Invitation, error) {
	token := credential.Mint(credential.InvitationPrefix)
	invitation := &Invitation{
		URL:     portalAddress(app) + "#/invitation/" + token,
		Expires: now.Add(InvitationDuration).Truncate(time.Millisecond),
	}
	err := app.RunInTransaction(func(tx core.App) error {
		record, err := tx.FindRecordById(CollectionName, id)
		if err != nil {
			return err
		}
		if IsLink(record) {
			return sql.ErrNoRows
		}
		if HasAccepted(record) {
			return fault.New(fault.AlreadyAccepted,
				"This member has already chosen a password. “Forgot your password?” sends a link to choose another.")
		}
		owner, err := tx.FindRecordById(tenant.CollectionName, TenantOf(record))
		if err != nil {
			return err
		}
		if err := tenant.Writable(sqlite.ReaderOf(tx), owner.Id); err != nil {
			return err
		}
		invitation.Email, invitation.Tenant = record.Email(), owner.GetString("name")
		record.Set("invitationHash", credential.Hash(token))
		record.Set("invitationMailed", mailed)
		record.Set("invitedUntil", invitation.Expires)
		return tx.SaveNoValidate(record) // a field that an admin has made required may be empty
	})
	if err != nil {
		return nil, fmt.Errorf("inviting the member %q: %w", id, err)
	}
	return invitation, nil
}

// FindInvited returns the member whom a token invites. The error is a *fault.Error if the invitation has ended.
func FindInvited(app core.App, token string, now time.Time) (*core.Record, error) {
	if !credential.WellFormed(credential.InvitationPrefix, token) {
		return nil, errExpired
	}
	record := &core.Record{}
	err := app.RecordQuery(CollectionName).
		AndWhere(dbx.HashExp{"invitationHash": credential.Hash(token)}).
		AndWhere(dbx.NewExp("[[invitationHash]] != ''")). // which is in the index
		Limit(1).One(record)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, errExpired
	}
	if err != nil {
		return nil, fmt.Errorf("looking up an invitation: %w", err)
	}
	if !now.Before(record.GetDateTime("invitedUntil").Time()) {
		return nil, errExpired
	}
	return record, nil
}

// Open returns the invitation of the member that FindInvited has returned, without its URL. The error is that of
// tenant.Writable while nobody can accept it.
func Open(app core.App, invited *core.Record) (*Invitation, error) {
	owner, err := app.FindRecordById(tenant.CollectionName, TenantOf(invited))
	if errors.Is(err, sql.ErrNoRows) {
		return nil, errExpired
	}
	if err == nil {
		err = tenant.Writable(sqlite.Direct(app.ConcurrentDB()), owner.Id)
	}
	if err != nil {
		return nil, fmt.Errorf("opening the invitation of the member %q: %w", invited.Id, err)
	}
	return &Invitation{
		Email: invited.Email(), Tenant: owner.GetString("name"), Expires: invited.GetDateTime("invitedUntil").Time(),
	}, nil
}

// acceptableSQL is the query whether an invitation still holds.
const acceptableSQL = "SELECT EXISTS (SELECT 1 FROM `tenant_members` " +
	"WHERE `id` = ? AND `invitationHash` = ? AND `invitedUntil` > ?)"

// Accept sets the password that an invited member has chosen, and ends the invitation. The record is that of
// FindInvited. The error is a *fault.Error if the invitation has ended meanwhile, and a validation.Errors if
// the password is invalid.
func Accept(app core.App, invited *core.Record, password string, now time.Time) error {
	hash := invited.GetString("invitationHash")
	invited.IgnoreUnchangedFields(true)
	invited.SetPassword(password) // outside the transaction: hashing it takes a while
	SetAccepted(invited)
	if invited.GetBool("invitationMailed") {
		invited.SetVerified(true)
	}
	invited.Set("invitationHash", "")
	invited.Set("invitedUntil", "")
	err := app.RunInTransaction(func(tx core.App) error {
		reader := sqlite.ReaderOf(tx)
		holds, err := sqlite.Value[bool](reader, acceptableSQL, invited.Id, hash, stamp.Stored(now))
		if err != nil {
			return err
		}
		if !holds {
			return errExpired
		}
		if err := tenant.Writable(reader, TenantOf(invited)); err != nil {
			return err
		}
		return tx.Save(invited)
	})
	if err != nil {
		return fmt.Errorf("accepting the invitation of the member %q: %w", invited.Id, err)
	}
	return nil
}

// portalAddress returns the URL of the portal.
func portalAddress(app core.App) string {
	return strings.TrimRight(app.Settings().Meta.AppURL, "/") + "/portal/"
}
