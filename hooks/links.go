package hooks

import (
	"errors"
	"net/http"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/member"
)

// bindLinks restricts a portal link to the purpose of its token. Nobody can sign in with its record, which belongs to
// no person and has no mailbox. Its token cannot be refreshed, and PocketBase answers a refresh with the same token.
func bindLinks(app core.App) {
	app.OnRecordAuthRequest(member.CollectionName).BindFunc(func(e *core.RecordAuthRequestEvent) error {
		if e.AuthMethod != "" && isLink(e.Record) { // a refresh has no method
			return e.BadRequestError("Failed to authenticate.", errors.New("a portal link cannot sign in"))
		}
		return e.Next()
	})
	app.OnRecordRequestOTPRequest(member.CollectionName).BindFunc(func(e *core.RecordCreateOTPRequestEvent) error {
		if isLink(e.Record) {
			e.Record = nil // PocketBase answers as for an unknown address
		}
		return e.Next()
	})
	app.OnRecordRequestPasswordResetRequest(member.CollectionName).
		BindFunc(func(e *core.RecordRequestPasswordResetRequestEvent) error {
			if isLink(e.Record) {
				return e.NoContent(http.StatusNoContent)
			}
			return e.Next()
		})
	app.OnRecordRequestVerificationRequest(member.CollectionName).
		BindFunc(func(e *core.RecordRequestVerificationRequestEvent) error {
			if isLink(e.Record) {
				return e.NoContent(http.StatusNoContent)
			}
			return e.Next()
		})
	app.OnRealtimeSubscribeRequest().BindFunc(func(e *core.RealtimeSubscribeRequestEvent) error {
		return unlessLink(e.RequestEvent, e.Next)
	})
	app.OnBatchRequest().BindFunc(func(e *core.BatchRequestEvent) error {
		return unlessLink(e.RequestEvent, e.Next)
	})
}

// unlessLink continues a request, unless a portal link sent it.
func unlessLink(e *core.RequestEvent, next func() error) error {
	if isLink(e.Auth) {
		return e.ForbiddenError("A portal link may not do this.", nil)
	}
	return next()
}

// isLink reports whether a record is a portal link's; record may be nil.
func isLink(record *core.Record) bool { return member.Is(record) && member.IsLink(record) }
