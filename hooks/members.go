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
	app.OnRecordCreateRequest(member.CollectionName).BindFunc(createMember)
	app.OnRecordUpdateRequest(member.CollectionName).BindFunc(updateMember)
	app.OnRecordConfirmPasswordResetRequest(member.CollectionName).
		BindFunc(func(e *core.RecordConfirmPasswordResetRequestEvent) error {
			member.SetAccepted(e.Record)
			return e.Next()
		})
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

// createMember gives a new member who comes without a password a random one, which nobody knows: an invitation lets the
// member choose one.
func createMember(e *core.RecordRequestEvent) error {
	restore(e.Record, member.ProgramFields...)
	sent, err := bodyOf(e)
	if err != nil {
		return err
	}
	isEmpty := func(name string) bool { return sent[name] == nil || sent[name] == "" }
	if isEmpty("password") && isEmpty("passwordConfirm") {
		e.Record.SetRandomPassword()
	}
	return concealTaken(e)
}

// updateMember notes that a member has chosen a password.
func updateMember(e *core.RecordRequestEvent) error {
	restore(e.Record, member.ProgramFields...)
	sent, err := bodyOf(e)
	if err != nil {
		return err
	}
	if password, ok := sent["password"].(string); ok && password != "" && e.Auth != nil && e.Auth.Id == e.Record.Id {
		member.SetAccepted(e.Record)
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
