package routes

import (
	"errors"
	"time"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/fault"
	"contactbase/internal/idempotency"
	"contactbase/internal/sqlite"
)

// errReplayed means that the request was answered before: it does nothing, and gets that answer again.
var errReplayed = errors.New("the request was answered before")

// call is a request that is answered once for its idempotency key. It may be one without a key.
type call struct {
	tenant          string
	id, fingerprint string // of the key, and of what came with it; "" without a key

	answer   *idempotency.Answer
	replayed bool // the answer is that of the first request with this key
}

// newCall returns a request with the caller's key, "" for none. Keys of different scopes have nothing to do with each other.
// Where the key comes with another request than before, it is refused.
func newCall(key, tenant, scope string, request []byte) call {
	if key == "" {
		return call{}
	}
	return call{tenant: tenant, id: idempotency.ID(scope, key), fingerprint: idempotency.Fingerprint(request)}
}

// begin claims the request's key until end is called.
func (s *server) begin(c call) (end func(), err error) {
	if c.id == "" {
		return func() {}, nil
	}
	end, ok := s.inFlight.Begin(c.id)
	if !ok {
		return nil, &fault.Error{
			Code: fault.IdempotencyKeyInUse, Message: "A request with this Idempotency-Key is still running; repeat it in a moment.", RetryAfter: time.Second,
		}
	}
	return end, nil
}

// find looks for the answer of the first request with this key. It returns errReplayed where there is one.
func (c *call) find(tx sqlite.Reader) (err error) {
	if c.id == "" {
		return nil
	}
	if c.answer, err = idempotency.Find(tx, c.tenant, c.id, c.fingerprint, time.Now()); err != nil {
		return err
	}
	if c.replayed = c.answer != nil; c.replayed {
		return errReplayed
	}
	return nil
}

// remember makes this the answer of the request, and returns the statements that keep it for repeats.
func (c *call) remember(tx sqlite.Reader, answer *idempotency.Answer) ([]sqlite.Statement, error) {
	c.answer = answer
	if c.id == "" {
		return nil, nil
	}
	return idempotency.Remember(tx, c.id, c.fingerprint, answer, time.Now())
}

// send answers the request.
func (c *call) send(e *core.RequestEvent) error {
	if c.replayed {
		e.Response.Header().Set("Idempotency-Replayed", "true")
	}
	return e.Blob(c.answer.Status, "application/json", []byte(c.answer.Body))
}
