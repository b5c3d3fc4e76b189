package routes

import (
	"errors"
	"net"
	"net/http"
	"net/url"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/fault"
	"contactbase/internal/mcp"
	"contactbase/internal/requests"
	"contactbase/internal/tenant"
	"contactbase/routes/envelope"
)

// maxMessage is the largest MCP message, in bytes. It leaves room for a contact that is too large, which gets
// the API's own error.
const maxMessage = 2 * maxContactBody

// crossOrigin detects requests from other sites' pages.
var crossOrigin = http.NewCrossOriginProtection()

// serveModel answers a message of the Model Context Protocol. Each message counts as one request of the key; the API
// requests that its tool makes are included. Over the limit, a tool call returns an error as its result; any other
// message is refused.
func (s *server) serveModel(e *core.RequestEvent) error {
	if crossOrigin.Check(e.Request) != nil {
		return fault.New(fault.Forbidden, "Other sites' pages may not call this address. Use the key on a server only.")
	}
	found, err := s.authenticate(e)
	if err != nil {
		return err
	}
	if !found.APIEnabled {
		return tenant.ErrNotEnabled
	}
	e.Set(countedKey, true)
	var refused *fault.Error
	if err := s.limits.Spend(e, found, 1); err != nil && !errors.As(err, &refused) {
		return err
	}
	raw, message, err := envelope.ReadJSON(e, maxMessage)
	if refused != nil && (err != nil || message["method"] != "tools/call") {
		return refused
	}
	if err != nil {
		return err
	}
	request := e.Request.WithContext(e.Request.Context())
	if address, err := url.Parse(e.App.Settings().Meta.AppURL); err == nil && address.Host == request.Host {
		request.Host = "localhost" // known to be ours: behind a proxy on this machine, the SDK refuses other hosts
	}
	answer, err := s.mcp.Answer(request, mcp.Caller{
		Key: apiKey(e.Request.Header), Identity: found,
		Address: net.JoinHostPort(e.RealIP(), "0"), RequestID: requests.ID(e), Refused: refused,
	}, raw)
	if err != nil {
		return err
	}
	if refused != nil && !answer.Called {
		return refused
	}
	if refused != nil {
		requests.SetCode(e, string(refused.Code))
	}
	if answer.Asked {
		e.Set(countedKey, nil) // as the tool's request
	}
	return answer.Send(e.Response)
}
