package routes

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/router"

	"contactbase/internal/fault"
	"contactbase/internal/replica"
	"contactbase/routes/envelope"
	"contactbase/routes/route"
)

// acknowledge runs the rest of a request. It delays responses to requests that may write until Replica acknowledges
// them. This includes requests that wrote nothing themselves: a replayed response, an unchanged contact or a conflict
// reports on others' writes, which may not be replicated yet. A read only requires that this machine still serves after
// it, because a machine that has been replaced has old data.
func (s *server) acknowledge(e *core.RequestEvent) error {
	if err := s.Replica.Holds(); err != nil {
		return replaced(err)
	}
	held := &heldAnswer{ResponseWriter: e.Response, acknowledge: func() error {
		if err := s.Replica.Acknowledge(e.Request.Context()); err != nil {
			return unreplicated(err)
		}
		return nil
	}}
	if e.Request.Method == http.MethodGet || e.Request.Method == http.MethodHead {
		held.acknowledge = func() error {
			if err := s.Replica.Holds(); err != nil {
				return replaced(err)
			}
			return nil
		}
	}
	e.Response = held
	err := e.Next()
	e.Response = held.ResponseWriter
	if err != nil && !held.started && waits(statusIn(e, err)) {
		held.refused = held.acknowledge()
	}
	if held.refused != nil {
		return held.refused
	}
	return err
}

// waits reports whether a response with this status may reflect stored data: a success, or an error found in the
// data. Requests rejected earlier and failures do not.
func waits(status int) bool {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusMethodNotAllowed,
		http.StatusRequestTimeout, http.StatusRequestEntityTooLarge,
		http.StatusUnsupportedMediaType, http.StatusTooManyRequests:
		return false
	default:
		return status < http.StatusInternalServerError
	}
}

// statusIn returns the status of the response to a request that ends with an error.
func statusIn(e *core.RequestEvent, err error) int {
	f := envelope.FaultOf(err)
	if f.Code == fault.Internal && !ours(e.Request.URL.Path) { // where PocketBase treats any error as the client's mistake
		return router.ToApiError(err).Status
	}
	return envelope.StatusOf(f)
}

// newestVisibleEvent returns the id of the newest event that clients may see, nil for all.
func newestVisibleEvent(ctx context.Context, of route.Replica) (*string, error) {
	if of == nil {
		return nil, nil
	}
	newest, err := of.NewestVisibleEvent(ctx)
	switch {
	case errors.Is(err, replica.ErrFenced):
		return nil, replaced(err)
	case err != nil:
		return nil, unreplicated(err)
	default:
		return newest, nil
	}
}

// replaced returns the fault of a request that wrote nothing, because another machine serves or may serve.
func replaced(cause error) *fault.Error {
	return &fault.Error{
		Code: fault.Standby, Message: "Another machine is taking over. Try again shortly.",
		RetryAfter: time.Second, Cause: cause,
	}
}

// unreplicated returns the fault of a request that may have written, and whose response may not be sent. If another
// machine has taken over meanwhile, it may have the write, too.
func unreplicated(cause error) *fault.Error {
	return &fault.Error{
		Code: fault.Unreplicated,
		Message: "The change is written but not yet on the replica, and could be lost with this machine. " +
			"Repeat the request with the same Idempotency-Key until it succeeds; " +
			"after If-Match or If-None-Match, read the contact instead.",
		RetryAfter: time.Second, Cause: cause,
	}
}

// heldAnswer holds back a response until it is acknowledged. Nothing of a refused one is sent.
type heldAnswer struct {
	http.ResponseWriter
	acknowledge func() error // returns why the response is not sent, as the client sees it
	started     bool
	refused     error // why the response is not sent, nil if it is
}

func (h *heldAnswer) WriteHeader(status int) {
	if h.started {
		return
	}
	h.started = true
	if waits(status) {
		if h.refused = h.acknowledge(); h.refused != nil {
			h.forget()
			return
		}
	}
	h.ResponseWriter.WriteHeader(status)
}

// forget removes the headers of the success.
func (h *heldAnswer) forget() {
	for _, name := range []string{"Location", "Etag", "Link", "Content-Length", "Content-Type", "Idempotency-Replayed"} {
		h.Header().Del(name)
	}
}

func (h *heldAnswer) Write(p []byte) (int, error) {
	h.WriteHeader(http.StatusOK)
	if h.refused == nil {
		return h.ResponseWriter.Write(p)
	}
	return len(p), nil // the handler is done
}

// FlushError is used by http.ResponseController.
func (h *heldAnswer) FlushError() error {
	h.WriteHeader(http.StatusOK)
	if h.refused != nil {
		return h.refused
	}
	return http.NewResponseController(h.ResponseWriter).Flush()
}

func (h *heldAnswer) Flush() { _ = h.FlushError() } // a client that has gone needs no response

// Unwrap is used by http.ResponseController.
func (h *heldAnswer) Unwrap() http.ResponseWriter { return h.ResponseWriter }
