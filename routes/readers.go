package routes

import (
	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/hook"

	"contactbase/routes/limit"
)

// keyReads gives a key's request its turn to read.
func (s *server) keyReads() *hook.Handler[*core.RequestEvent] {
	return &hook.Handler[*core.RequestEvent]{
		Id:   "contactbaseKeyReads",
		Func: func(e *core.RequestEvent) error { return s.readInTurn(e, identity(e).TenantID) },
	}
}

// readInTurn runs the rest of a request once it is the tenant's turn to read. The turn ends with the first byte of the
// response.
func (s *server) readInTurn(e *core.RequestEvent, tenantID string) error {
	release, err := s.readers.Acquire(e.Request.Context(), tenantID)
	if err != nil {
		return err
	}
	defer release()
	response := e.Response
	e.Response = limit.Response{ResponseWriter: response, Release: release}
	err = e.Next()
	e.Response = response
	return err
}
