package routes

import (
	"errors"
	"net"
	"net/http"
	"net/url"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/fault"
	"contactbase/internal/inbound"
	"contactbase/internal/mcp"
	"contactbase/internal/requests"
)

// maxMessage is the largest message of a model's client, in bytes: a contact that is too large gets the API's own answer.
const maxMessage = 2 * maxContactBody

// crossOrigin tells requests that the pages of other sites make.
var crossOrigin = http.NewCrossOriginProtection()

// serveModel answers a message of the Model Context Protocol. Each counts as one request of the key, and what a tool asks the API for is
// a part of it. Beyond the limit a tool says so itself, as the result of its call; anything else is refused.
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
	e.Set(countedKey, true)
	var refused *fault.Error
	if err := s.limits.spend(e, found, 1); err != nil && !errors.As(err, &refused) {
		return err
	}
	raw, message, err := readJSON(e, maxMessage)
	if refused != nil && (err != nil || message["method"] != "tools/call") {
		return refused
	}
	if err != nil {
		return err
	}
	request := e.Request.WithContext(e.Request.Context())
	if address, err := url.Parse(e.App.Settings().Meta.AppURL); err == nil && address.Host == request.Host {
		request.Host = "localhost" // it is known to be ours: the SDK refuses other hosts from a proxy on this machine
	}
	answer, err := s.models.Answer(request, mcp.Caller{
		Key: apiKey(e.Request.Header), Identity: found, Address: net.JoinHostPort(e.RealIP(), "0"), RequestID: requestID(e), Refused: refused,
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
		e.Set(countedKey, nil) // as the request of the tool
	}
	return answer.Send(e.Response)
}
