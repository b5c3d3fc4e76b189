package routes

import (
	"errors"
	"net/http"

	validation "github.com/pocketbase/ozzo-validation/v4"
	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/mails"
	"github.com/pocketbase/pocketbase/tools/router"
	"github.com/pocketbase/pocketbase/tools/routine"

	"contactbase/internal/member"
)

// changeEmail handles a member's request to change the email address. It refuses that of a portal link. If the address
// is taken, perhaps by a member of another tenant, it answers as usual but sends nothing. PocketBase checks the address
// before it calls a hook.
func changeEmail(e *core.RequestEvent) error {
	if member.IsLink(e.Auth) {
		return e.ForbiddenError("A portal link may not do this.", nil)
	}
	err := e.Next()
	if isTaken(err) {
		return e.NoContent(http.StatusNoContent)
	}
	return err
}

// sendLater responds before the mail is sent, as PocketBase does for other mails: otherwise the duration would reveal
// that nothing is sent.
func sendLater(e *core.RecordRequestEmailChangeRequestEvent) error {
	app, record, address := e.App, e.Record, e.NewEmail
	routine.FireAndForget(func() {
		if err := mails.SendRecordChangeEmail(app, record, address); err != nil {
			app.Logger().Error("A mail to confirm a new address could not be sent", "error", err)
		}
	})
	return e.NoContent(http.StatusNoContent)
}

// isTaken reports whether PocketBase refuses a new address because another account has it.
func isTaken(err error) bool {
	var refused *router.ApiError
	if !errors.As(err, &refused) {
		return false
	}
	cause, _ := refused.RawData().(error)
	var faults validation.Errors
	var fault validation.Error
	return errors.As(cause, &faults) && errors.As(faults["newEmail"], &fault) &&
		fault.Code() == "validation_invalid_new_email"
}
