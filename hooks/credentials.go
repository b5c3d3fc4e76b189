package hooks

import (
	"fmt"
	"time"

	"github.com/pocketbase/dbx"
	validation "github.com/pocketbase/ozzo-validation/v4"
	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/types"

	"contactbase/internal/credential"
	"contactbase/internal/member"
	"contactbase/internal/tenant"
)

func bindCredentials(app core.App) {
	app.OnRecordCreate(credential.CollectionName).BindFunc(mintKey)
	app.OnRecordUpdate(credential.CollectionName).BindFunc(keepKey)
	app.OnRecordValidate(credential.CollectionName).BindFunc(validateOwned)
	app.OnRecordEnrich(credential.CollectionName).BindFunc(showKeyOnce)
	app.OnRecordCreateRequest(credential.CollectionName).BindFunc(refusePastExpiry)
	app.OnRecordUpdateRequest(credential.CollectionName).BindFunc(refusePastExpiry)
	app.OnRecordCreateRequest(credential.CollectionName).BindFunc(guardPermissions)
	app.OnRecordUpdateRequest(credential.CollectionName).BindFunc(guardPermissions)
}

// guardPermissions keeps a portal link from granting permissions that no key has by default, and from changing a key
// that has one: the key outlives the link.
func guardPermissions(e *core.RecordRequestEvent) error {
	if isLink(e.Auth) && (credential.IsGuarded(e.Record) || credential.IsGuarded(e.Record.Original())) {
		return e.ForbiddenError(credential.ErrGuarded.Message, nil)
	}
	return e.Next()
}

// mintKey overwrites a hash and a last use that a client sent: only this program generates keys and sees their use.
func mintKey(e *core.RecordEvent) error {
	credential.MintKey(e.Record)
	e.Record.Set("lastUsed", "")
	return e.Next()
}

func keepKey(e *core.RecordEvent) error {
	restore(e.Record, "hash", "prefix")
	if e.Record.Original().GetString("revoked") != "" {
		restore(e.Record, "revoked") // a revocation is final
	}
	if err := keepLastUsed(e.App, e.Record); err != nil {
		return err
	}
	return e.Next()
}

// refusePastExpiry refuses an expiry in the past from members, who would get a key that never works. Superusers may
// end a key with one.
func refusePastExpiry(e *core.RecordRequestEvent) error {
	expires := e.Record.GetDateTime("expires")
	changed := !expires.Equal(e.Record.Original().GetDateTime("expires"))
	if member.Is(e.Auth) && changed && !expires.IsZero() && !expires.Time().After(time.Now()) {
		return e.BadRequestError("The key is invalid.",
			validation.Errors{"expires": validation.NewError("validation_invalid_expires", "Must be in the future.")})
	}
	return e.Next()
}

// showKeyOnce adds the key to the response of the request that created it. Only that instance of the record has it.
func showKeyOnce(e *core.RecordEnrichEvent) error {
	if err := e.Next(); err != nil {
		return err
	}
	e.Record.Hide("hash")
	if key := credential.Minted(e.Record); key != "" {
		showOnly(e.Record, map[string]any{"key": key})
	}
	return nil
}

// validateOwned validates a record that belongs to a tenant.
func validateOwned(e *core.RecordEvent) error {
	if err := tenant.Keep(e.Record); err != nil {
		return err
	}
	return e.Next()
}

// restore undoes changes to fields that only the program writes.
func restore(record *core.Record, fields ...string) {
	for _, field := range fields {
		record.Set(field, record.Original().Get(field))
	}
}

// keepLastUsed reads the last use from the table: requests write it while an admin has the record open in a form.
func keepLastUsed(app core.App, record *core.Record) error {
	var lastUsed types.DateTime
	err := app.DB().Select("lastUsed").From(record.TableName()).Where(dbx.HashExp{"id": record.Id}).Row(&lastUsed)
	if err != nil {
		return fmt.Errorf("reading the last use of %s: %w", record.Id, err)
	}
	record.Set("lastUsed", lastUsed)
	return nil
}

// showOnly adds properties to the record's response that no field holds, and hides all others of that kind.
func showOnly(record *core.Record, properties map[string]any) {
	for name := range record.CustomData() {
		record.Hide(name)
	}
	for name, value := range properties {
		record.SetRaw(name, value)
		record.Unhide(name)
	}
	record.WithCustomData(true)
}
