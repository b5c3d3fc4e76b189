package hooks

import (
	"database/sql"
	"errors"
	"fmt"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/member"
	"contactbase/internal/tenant"
)

// bindPresence refuses requests of members who have lost the session or the role since the request began. PocketBase reads them before the
// body, which may take minutes to arrive.
func bindPresence(app core.App) {
	present := func(e *core.RecordRequestEvent) error { return ifPresent(e.RequestEvent, e.Next) }
	app.OnRecordCreateRequest(membersInput...).BindFunc(present)
	app.OnRecordUpdateRequest(membersInput...).BindFunc(present)
	app.OnRecordDeleteRequest(membersInput...).BindFunc(present)
	app.OnRecordViewRequest(append(membersInput, tenant.CollectionName)...).BindFunc(present)
	app.OnRecordsListRequest(append(membersInput, tenant.CollectionName)...).BindFunc(func(e *core.RecordsListRequestEvent) error {
		return ifPresent(e.RequestEvent, e.Next)
	})
}

// ifPresent continues a request, unless it is of a member who has lost the session or the role meanwhile.
func ifPresent(e *core.RequestEvent, next func() error) error {
	if !member.Is(e.Auth) {
		return next()
	}
	present, err := e.App.FindRecordById(member.CollectionName, e.Auth.Id)
	switch {
	case errors.Is(err, sql.ErrNoRows) || err == nil && present.TokenKey() != e.Auth.TokenKey():
		return e.UnauthorizedError("The session has ended. Sign in again.", nil)
	case err != nil:
		return fmt.Errorf("reading a member: %w", err)
	case present.GetString("role") != e.Auth.GetString("role"):
		return e.ForbiddenError("Your role has changed. Send the request again.", nil)
	default:
		return next()
	}
}
