package hooks

import (
	"database/sql"
	"errors"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/audit"
	"contactbase/internal/credential"
	"contactbase/internal/member"
	"contactbase/internal/sqlite"
	"contactbase/internal/tenant"
)

// bindAudit writes the audit log. Its hooks come first, so that their transactions contain whatever other hooks do.
func bindAudit(app core.App) {
	app.OnRecordCreateExecute(administered...).BindFunc(auditCreate)
	app.OnRecordUpdateExecute(administered...).BindFunc(auditUpdate)
	app.OnRecordDeleteExecute(administered...).BindFunc(auditDelete)
	app.OnRecordDeleteExecute().BindFunc(actInCascade)
	app.OnRecordAuthRequest(member.CollectionName, core.CollectionNameSuperusers).BindFunc(auditSignIn)

	bindSelfService(app)
}

func auditCreate(e *core.RecordEvent) error {
	return sqlite.TransactRecord(e, func(tx core.App) error {
		if err := e.Next(); err != nil {
			return err
		}
		set, err := audit.Set(tx, e.Record)
		if err != nil {
			return err
		}
		if member.Is(e.Record) && member.IsLink(e.Record) {
			return write(tx, e, audit.LinkCreated, nil, set)
		}
		return write(tx, e, audit.Created, nil, set)
	})
}

// auditUpdate compares with the stored record: the one in memory may have been read before another change.
func auditUpdate(e *core.RecordEvent) error {
	return sqlite.TransactRecord(e, func(tx core.App) error {
		before, err := tx.FindRecordById(e.Record.Collection(), e.Record.Id)
		if errors.Is(err, sql.ErrNoRows) { // deleted meanwhile
			return e.Next()
		}
		if err != nil {
			return err
		}
		if err := e.Next(); err != nil {
			return err
		}
		changed, err := audit.Changed(tx, before, e.Record)
		if err != nil {
			return err
		}
		switch {
		case isRotated(e.Record):
			return write(tx, e, audit.Rotated, before, changed)
		case before.GetString("revoked") == "" && e.Record.GetString("revoked") != "":
			return write(tx, e, audit.Revoked, before, changed)
		case len(changed) > 0:
			return write(tx, e, audit.Updated, before, changed)
		default:
			return nil
		}
	})
}

func isRotated(record *core.Record) bool {
	return record.GetRaw(credential.RotatedMark) != nil
}

func auditDelete(e *core.RecordEvent) error {
	return sqlite.TransactRecord(e, func(tx core.App) error {
		if err := e.Next(); err != nil {
			return err
		}
		if member.Is(e.Record) && member.IsLink(e.Record) {
			return write(tx, e, audit.Revoked, nil, nil)
		}
		return writeChanges(tx, e, audit.Deleted, nil, audit.Removed(e.Record))
	})
}

// actInCascade makes the actor of a deletion that of what PocketBase deletes or changes with the record: it passes no
// context there.
func actInCascade(e *core.RecordEvent) error {
	if actor := audit.ActorIn(e.Context); actor != (audit.Actor{}) {
		outer := e.App
		defer func() { e.App = outer }()
		e.App = audit.As(outer, actor)
	}
	return e.Next()
}

// auditSignIn writes sign-ins, also those of superusers as somebody else. A refreshed token has neither a method
// nor another record.
func auditSignIn(e *core.RecordAuthRequestEvent) error {
	actor := e.Record
	if e.AuthMethod == "" {
		actor = e.Auth
	}
	if err := e.Next(); err != nil || actor == nil || e.AuthMethod == "" && actor.Id == e.Record.Id {
		return err
	}
	return audit.Write(e.App, audit.Entry{
		Actor: audit.ActorOf(actor), Tenant: owner(e.Record),
		Action: audit.SignedIn, Collection: e.Collection.Name, Record: e.Record.Id,
	})
}

// write writes an entry about a record. before is what it was before fields changed, nil for a new or deleted one.
func write(tx core.App, e *core.RecordEvent, action audit.Action, before *core.Record, fields []string) error {
	return writeChanges(tx, e, action, fields, audit.Changes(before, e.Record, fields))
}

func writeChanges(
	tx core.App, e *core.RecordEvent, action audit.Action, fields []string, changes map[string]audit.Change,
) error {
	return audit.Write(tx, audit.Entry{
		Actor: audit.ActorIn(e.Context), Tenant: owner(e.Record), Action: action,
		Collection: e.Record.Collection().Name, Record: e.Record.Id, Fields: fields, Changes: changes,
	})
}

// owner returns the id of the tenant that a record belongs to, "" for none.
func owner(record *core.Record) string {
	if record.Collection().Name == tenant.CollectionName {
		return record.Id
	}
	return record.GetString("tenant")
}

// bindSelfService makes members the actors of what they do without being signed in, with a token from an email.
func bindSelfService(app core.App) {
	app.OnRecordConfirmPasswordResetRequest(member.CollectionName).
		BindFunc(func(e *core.RecordConfirmPasswordResetRequestEvent) error {
			return bySelf(e.RequestEvent, e.Record, e.Next)
		})
	app.OnRecordConfirmEmailChangeRequest(member.CollectionName).
		BindFunc(func(e *core.RecordConfirmEmailChangeRequestEvent) error {
			return bySelf(e.RequestEvent, e.Record, e.Next)
		})
	app.OnRecordConfirmVerificationRequest(member.CollectionName).
		BindFunc(func(e *core.RecordConfirmVerificationRequestEvent) error {
			return bySelf(e.RequestEvent, e.Record, e.Next)
		})
	app.OnRecordAuthWithOTPRequest(member.CollectionName).BindFunc(func(e *core.RecordAuthWithOTPRequestEvent) error {
		return bySelf(e.RequestEvent, e.Record, e.Next)
	})
	app.OnRecordAuthWithOAuth2Request(member.CollectionName).
		BindFunc(func(e *core.RecordAuthWithOAuth2RequestEvent) error {
			return bySelf(e.RequestEvent, e.Record, e.Next)
		})
}

// bySelf continues a request as the member; record is nil for one that does not exist yet.
func bySelf(e *core.RequestEvent, record *core.Record, next func() error) error {
	if record != nil {
		record.IgnoreUnchangedFields(true) // see bindPartialUpdates
		e.App = audit.As(e.App, audit.ActorOf(record))
	}
	return next()
}
