package routes

import (
	"net/http"
	"strings"
	"time"

	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/hook"
	"github.com/pocketbase/pocketbase/tools/router"
	"github.com/pocketbase/pocketbase/tools/security"

	"contactbase/internal/audit"
	"contactbase/internal/fault"
	"contactbase/internal/member"
	"contactbase/internal/order"
	"contactbase/internal/requests"
	"contactbase/routes/envelope"
)

// account is what follows once PocketBase has read the token of a member or superuser, below our prefix for them and in
// PocketBase's own API. What they write is theirs in the audit log. The requests of members and portal links are
// limited; they may not send all queries and changes, and each tenant's members read in turn.
func (s *server) account() *hook.Handler[*core.RequestEvent] {
	return &hook.Handler[*core.RequestEvent]{
		Id:       accountMiddlewareID,
		Priority: order.AccountKnown,
		Func: func(e *core.RequestEvent) error {
			if member.HasEnded(e.Auth, time.Now()) {
				e.Auth = nil
			}
			if e.Auth != nil {
				e.App = audit.As(e.App, audit.ActorOf(e.Auth))
			}
			isMember := member.Is(e.Auth)
			if isMember {
				if err := s.limits.Visit(e.Request.Context(), e.Auth, 1); err != nil {
					return err
				}
			}
			if !mayQuery(e, e.Request.URL) {
				return refuseQuery(e)
			}
			switch {
			case !isMember:
				return e.Next()
			case e.Request.Method == http.MethodGet || e.Request.Method == http.MethodHead:
				return s.readInTurn(e, member.TenantOf(e.Auth))
			case strings.HasSuffix(e.Request.URL.Path, "/request-email-change"):
				return changeEmail(e)
			}
			return e.Next()
		},
	}
}

// bindBatchLimit counts a batch of a member as the requests in it.
func (s *server) bindBatchLimit(app core.App) {
	app.OnBatchRequest().BindFunc(func(e *core.BatchRequestEvent) error {
		if more := len(e.Batch) - 1; member.Is(e.Auth) && more > 0 {
			if err := s.limits.Visit(e.Request.Context(), e.Auth, more); err != nil {
				return err
			}
		}
		return e.Next()
	})
}

// answerLimited answers a member's request to PocketBase's API that is over the limit: in the envelope, with
// PocketBase's own properties for its clients.
func answerLimited(e *core.RequestEvent, f *fault.Error) error {
	id := security.PseudorandomString(20)
	e.Response.Header().Set(requests.IDHeader, id)
	envelope.WriteHeader(e, f)
	routed := router.NewTooManyRequestsError(f.Message, nil)
	err := e.JSON(http.StatusTooManyRequests, map[string]any{
		"status": routed.Status, "message": routed.Message, "data": routed.Data,
		"error": map[string]any{"code": f.Code, "message": f.Message, "requestId": id},
	})
	if err != nil {
		return err
	}
	return routed // for the log
}
