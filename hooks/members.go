package hooks

import (
	"errors"

	validation "github.com/pocketbase/ozzo-validation/v4"
	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/router"

	"contactbase/internal/member"
	"contactbase/internal/sqlite"
	"contactbase/internal/tenant"
	"contactbase/internal/visitor"
)

func bindMembers(app core.App) {
	app.OnRecordCreate(member.CollectionName).BindFunc(completeMember)
	app.OnRecordUpdate(member.CollectionName).BindFunc(completeMember)
	app.OnRecordValidate(member.CollectionName).BindFunc(validateOwned)
	app.OnRecordCreateRequest(member.CollectionName).BindFunc(concealTaken)
	app.OnRecordAuthRequest(member.CollectionName).BindFunc(onlyServed)
	app.OnMailerRecordAuthAlertSend().BindFunc(onlyWithServer)
	newSignInLimit().bind(app)
	app.OnServe().BindFunc(func(e *core.ServeEvent) error {
		e.Router.Bind(visitor.MaskAddresses(), visitor.RestoreAddresses())
		return e.Next()
	})
}

// completeMember makes the address visible to the tenant's admins, from whom PocketBase would hide it.
func completeMember(e *core.RecordEvent) error {
	e.Record.SetEmailVisibility(true)
	if e.Record.GetString("notify") == "" {
		e.Record.Set("notify", member.NotifyImmediately)
	}
	return e.Next()
}

// onlyServed refuses sign-ins to a tenant that is not served yet.
func onlyServed(e *core.RecordAuthRequestEvent) error {
	state, err := tenant.StateOf(sqlite.ReaderOf(e.App), member.TenantOf(e.Record))
	if err != nil {
		return err
	}
	if err := state.Readable(); err != nil {
		return err
	}
	return e.Next()
}

// onlyWithServer drops alerts about sign-ins from new places without a mail server: PocketBase would look for
// sendmail, and log that it is missing.
func onlyWithServer(e *core.MailerRecordEvent) error {
	if !e.App.Settings().SMTP.Enabled {
		return nil
	}
	return e.Next()
}

// concealTaken answers an invitation to a taken address like one to an invalid address, because the address may
// belong to a member of another tenant.
func concealTaken(e *core.RecordRequestEvent) error {
	err := e.Next()
	var refused *router.ApiError
	if e.HasSuperuserAuth() || !errors.As(err, &refused) {
		return err
	}
	var faults validation.Errors
	if cause, ok := refused.RawData().(error); !ok || !errors.As(cause, &faults) || faults[core.FieldNameEmail] == nil {
		return err
	}
	faults[core.FieldNameEmail] = validation.NewError("validation_invalid_email",
		"This address is invalid or cannot be invited.")
	return e.BadRequestError(refused.Message, faults)
}
