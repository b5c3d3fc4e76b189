package routes

import (
	"net/http"

	"github.com/pocketbase/pocketbase/core"
)

// openAPI serves the description of the API. It holds no secrets: anybody may read it.
func (s *server) openAPI(e *core.RequestEvent) error {
	e.Response.Header().Set("Cache-Control", "no-cache")
	return e.Blob(http.StatusOK, "application/json", s.document())
}
