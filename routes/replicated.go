package routes

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/pocketbase/pocketbase/apis"
	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/hook"

	"contactbase/internal/fault"
	"contactbase/internal/replica"
)

// Replica is what requests need of a replica.
type Replica interface {
	Holds() error                          // reports whether this machine may answer
	Acknowledge(ctx context.Context) error // returns once what was written may be answered
	// NewestVisibleEvent returns the ID of the newest event that clients may see, nil for all.
	NewestVisibleEvent(ctx context.Context) (*string, error)
	Status() replica.Status
}

// acknowledge has answers of requests that may write wait for what Replica says of that. Whether they have written something
// themselves does not matter: an answer that was remembered, one that finds nothing to change and one that finds what it would create
// are about what others have written, which may still wait.
func (s *server) acknowledge() *hook.Handler[*core.RequestEvent] {
	return &hook.Handler[*core.RequestEvent]{
		Id:       "contactbaseAcknowledge",
		Priority: apis.DefaultPanicRecoverMiddlewarePriority - 2, // inside of the envelope
		Func: func(e *core.RequestEvent) error {
			if err := s.Replica.Holds(); err != nil {
				return unacknowledged(err)
			}
			if e.Request.Method == http.MethodGet || e.Request.Method == http.MethodHead {
				return e.Next()
			}
			held := &heldAnswer{ResponseWriter: e.Response, acknowledge: func() error { return s.Replica.Acknowledge(e.Request.Context()) }}
			e.Response = held
			err := e.Next()
			e.Response = held.ResponseWriter
			if err != nil && !held.begun && waits(statusIn(e, err)) {
				held.refused = held.acknowledge()
			}
			if held.refused != nil {
				return unacknowledged(held.refused)
			}
			return err
		},
	}
}

// waits reports whether an answer to a request that may write may be about what is stored: a success, a mistake of the caller's or
// something that is in the way, but not what was refused before anybody looked, nor what failed.
func waits(status int) bool {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusMethodNotAllowed, http.StatusRequestEntityTooLarge,
		http.StatusUnsupportedMediaType, http.StatusTooManyRequests:
		return false
	default:
		return status < http.StatusInternalServerError
	}
}

// unacknowledged words why an answer cannot be given.
func unacknowledged(cause error) *fault.Error {
	if errors.Is(cause, replica.ErrFenced) {
		return &fault.Error{Code: fault.Standby, Message: "Another machine serves, or is about to; try again shortly.", RetryAfter: time.Second, Cause: cause}
	}
	return &fault.Error{
		Code:       fault.Unreplicated,
		Message:    "What was written is not on the replica yet, and may be lost with this machine; repeat the request, with the same Idempotency-Key, until it succeeds.",
		RetryAfter: time.Second, Cause: cause,
	}
}

// heldAnswer keeps back an answer until it is acknowledged. One that is refused was never begun.
type heldAnswer struct {
	http.ResponseWriter
	acknowledge func() error
	begun       bool
	refused     error // why nothing is written, nil where it is
}

// WriteHeader implements http.ResponseWriter.
func (h *heldAnswer) WriteHeader(status int) {
	if h.begun {
		return
	}
	h.begun = true
	if waits(status) {
		if h.refused = h.acknowledge(); h.refused != nil {
			h.forget()
			return
		}
	}
	h.ResponseWriter.WriteHeader(status)
}

// forget takes back what the header says of the success.
func (h *heldAnswer) forget() {
	for _, name := range []string{"Location", "Etag", "Link", "Content-Length", "Content-Type", "Idempotency-Replayed"} {
		h.Header().Del(name)
	}
}

// Write implements http.ResponseWriter.
func (h *heldAnswer) Write(p []byte) (int, error) {
	h.WriteHeader(http.StatusOK)
	if h.refused == nil {
		return h.ResponseWriter.Write(p)
	}
	return len(p), nil // the handler has done its part
}

// FlushError is what http.ResponseController calls.
func (h *heldAnswer) FlushError() error {
	h.WriteHeader(http.StatusOK)
	if h.refused != nil {
		return h.refused
	}
	return http.NewResponseController(h.ResponseWriter).Flush()
}

// Flush implements http.Flusher.
func (h *heldAnswer) Flush() { _ = h.FlushError() } // who has gone needs no answer

// Unwrap is for http.ResponseController.
func (h *heldAnswer) Unwrap() http.ResponseWriter { return h.ResponseWriter }

func (s *server) replicaStatus(e *core.RequestEvent) error {
	if s.Replica == nil {
		return writeData(e, nil)
	}
	return writeData(e, s.Replica.Status())
}
