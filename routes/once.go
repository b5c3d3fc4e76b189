package routes

import (
	"errors"
	"time"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/credential"
	"contactbase/internal/fault"
	"contactbase/internal/idempotency"
	"contactbase/internal/sqlite"
)

// errReplayed means that the request was answered before: it does nothing, and gets that answer again.
var errReplayed = errors.New("the request was answered before")

// idempotentRequest is a request that is answered once for its idempotency key. It may be one without a key.
type idempotentRequest struct {
	tenant          string
	id, fingerprint string // of the key, and of what came with it; "" without a key

	answer   *idempotency.Answer
	replayed bool // the answer is that of the first request with this key
}

// newIdempotentRequest returns the caller's request with the key of its header, if any. Keys of different callers and routes have nothing
// to do with each other. Where the key comes with another body than before, it is refused.
func newIdempotentRequest(e *core.RequestEvent, caller *credential.Identity, route string, body []byte) (*idempotentRequest, error) {
	key, err := idempotencyKey(e.Request.Header)
	return keyed(key, caller.TenantID, caller.KeyID+" "+route, body), err
}

// keyed returns a request with a key, "" for none.
func keyed(key, tenant, scope string, body []byte) *idempotentRequest {
	r := &idempotentRequest{tenant: tenant}
	if key != "" {
		r.id, r.fingerprint = idempotency.ID(scope, key), idempotency.Fingerprint(body)
	}
	return r
}

// begin claims the request's key until end is called.
func (s *server) begin(r *idempotentRequest) (end func(), err error) {
	if r.id == "" {
		return func() {}, nil
	}
	end, ok := s.inFlight.Begin(r.id)
	if !ok {
		return nil, &fault.Error{
			Code: fault.IdempotencyKeyInUse, Message: "A request with this Idempotency-Key is still running; repeat it in a moment.", RetryAfter: time.Second,
		}
	}
	return end, nil
}

// find looks for the answer of the first request with this key. It returns errReplayed where there is one.
func (r *idempotentRequest) find(tx sqlite.Reader) (err error) {
	if r.id == "" {
		return nil
	}
	if r.answer, err = idempotency.Find(tx, r.tenant, r.id, r.fingerprint, time.Now()); err != nil {
		return err
	}
	if r.replayed = r.answer != nil; r.replayed {
		return errReplayed
	}
	return nil
}

// remember makes this the answer of the request, and returns the statements that keep it for repeats.
func (r *idempotentRequest) remember(tx sqlite.Reader, answer *idempotency.Answer) ([]sqlite.Statement, error) {
	answer.Tenant = r.tenant
	r.answer = answer
	if r.id == "" {
		return nil, nil
	}
	return idempotency.Remember(tx, r.id, r.fingerprint, answer, time.Now())
}

// send answers the request.
func (r *idempotentRequest) send(e *core.RequestEvent) error {
	if r.replayed {
		e.Response.Header().Set("Idempotency-Replayed", "true")
	}
	return e.Blob(r.answer.Status, "application/json", []byte(r.answer.Body))
}
