package routes

import (
	"net"
	"net/http"
	"net/url"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/fault"
	"contactbase/internal/inbound"
	"contactbase/internal/mcp"
)

// maxMessage is the largest message of a model's client, in bytes: a contact that is too large gets the API's own answer.
const maxMessage = 2 * maxContactBody

// crossOrigin tells requests that the pages of other sites make.
var crossOrigin = http.NewCrossOriginProtection()

// serveModel answers a message of the Model Context Protocol. A call of a tool is counted by the API, which the tool asks; any
// other message counts as one request.
func (s *server) serveModel(e *core.RequestEvent) error {
	if crossOrigin.Check(e.Request) != nil {
		return fault.New(fault.Forbidden, "Pages of other sites may not call this address: a key belongs on a server.")
	}
	found, err := s.authenticate(e)
	if err != nil {
		return err
	}
	if !found.APIEnabled {
		return inbound.ErrNotEnabled
	}
	raw, message, err := readJSON(e, maxMessage)
	if err != nil {
		return err
	}
	if !mcp.CallsTool(message) {
		if err := s.limits.spend(e, found, 1); err != nil {
			return err
		}
	}
	request := e.Request.WithContext(e.Request.Context())
	if address, err := url.Parse(e.App.Settings().Meta.AppURL); err == nil && address.Host == request.Host {
		request.Host = "localhost" // it is known to be ours: the SDK refuses other hosts from a proxy on this machine
	}
	s.models.Serve(e.Response, request, mcp.Caller{
		Key: apiKey(e.Request.Header), Grant: found, Address: net.JoinHostPort(e.RealIP(), "0"), RequestID: requestID(e),
	}, raw)
	return nil
}
