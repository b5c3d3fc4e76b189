package routes

import (
	"net/http"

	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/hook"
	"github.com/pocketbase/pocketbase/tools/router"
	"github.com/pocketbase/pocketbase/tools/security"

	"contactbase/internal/fault"
	"contactbase/internal/member"
	"contactbase/internal/order"
	"contactbase/internal/requests"
	"contactbase/routes/envelope"
)

// countMembers limits the requests of members and portal links, below our prefix and in PocketBase's own API. A batch counts as the
// requests in it.
func (s *server) countMembers(app core.App) *hook.Handler[*core.RequestEvent] {
	app.OnBatchRequest().BindFunc(func(e *core.BatchRequestEvent) error {
		if more := len(e.Batch) - 1; member.Is(e.Auth) && more > 0 {
			if err := s.limits.Visit(e.Request.Context(), e.Auth, more); err != nil {
				return err
			}
		}
		return e.Next()
	})
	return &hook.Handler[*core.RequestEvent]{
		Id:       "contactbaseCountMembers",
		Priority: order.MembersLimited,
		Func: func(e *core.RequestEvent) error {
			if member.Is(e.Auth) {
				if err := s.limits.Visit(e.Request.Context(), e.Auth, 1); err != nil {
					return err
				}
			}
			return e.Next()
		},
	}
}

// answerLimited answers a member's request to PocketBase's API that is over the limit: in the envelope, with PocketBase's own properties
// for its clients.
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
