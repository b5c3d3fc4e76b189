package routes

import (
	"cmp"
	"errors"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/credential"
	"contactbase/internal/fault"
	"contactbase/internal/idempotency"
	"contactbase/internal/sqlite"
	"contactbase/routes/envelope"
)

// errReplayed means that the request has been answered before: it does nothing and gets the same response.
var errReplayed = errors.New("the request has been answered before")

// errErased is the response to a repeat whose contact was deleted. Applying the request again would undo that.
var errErased = fault.New(fault.IdempotencyKeyReused, "A request with this Idempotency-Key has succeeded, "+
	"but its contact was deleted since; to apply it again, send a new key.")

// idempotentRequest is a request that is applied once for its idempotency key, if it has one.
type idempotentRequest struct {
	tenant          string
	id, fingerprint string // of the key and of the request; "" without a key

	// signature is the id of the signed bytes of a sender's request, "" for none: with another key they are a repeat,
	// unless the signature covers the key.
	signature string
	idSigned  bool

	answer   *idempotency.Answer
	replayed bool // the response is the first request's
}

// newIdempotentRequest returns the caller's request with its idempotency key, if any. Keys belong to one caller and
// route. A key that was used with another body is rejected.
func newIdempotentRequest(
	e *core.RequestEvent, caller *credential.Identity, route string, body []byte,
) (*idempotentRequest, error) {
	key, err := idempotencyKey(e.Request.Header)
	return keyed(key, caller.TenantID, caller.KeyID+" "+route, body), err
}

// idempotencyKey returns the client's key without quotes, "" if none.
func idempotencyKey(header http.Header) (string, error) {
	sent := header.Values("Idempotency-Key")
	if len(sent) == 0 {
		return "", nil
	}
	key := strings.TrimSpace(sent[0])
	if unquoted := strings.TrimPrefix(key, `"`); unquoted != key && strings.HasSuffix(unquoted, `"`) {
		key = strings.TrimSuffix(unquoted, `"`)
	}
	characters := utf8.RuneCountInString(key)
	if len(sent) > 1 || characters < 1 || characters > idempotency.MaxKeyLength || !utf8.ValidString(key) {
		return "", envelope.InvalidParameter("Idempotency-Key", "must be sent once, with 1 to 255 characters in UTF-8")
	}
	return key, nil
}

// keyed returns a request with a key, "" for none.
func keyed(key, tenant, scope string, body []byte) *idempotentRequest {
	r := &idempotentRequest{tenant: tenant}
	if key != "" {
		r.id, r.fingerprint = idempotency.ID(scope, key), idempotency.Fingerprint(body)
	}
	return r
}

// once calls write while no other request uses the key of r. For an invalid request it returns the error, unless the
// key has a stored response, or was used with another body: it reads that without the writer lock.
func (s *server) once(app core.App, r *idempotentRequest, invalid error, write func() error) error {
	if invalid != nil {
		return cmp.Or(r.find(sqlite.Direct(app.ConcurrentDB())), invalid)
	}
	if r.id == "" {
		return write()
	}
	end, ok := s.inFlight.Begin(r.id)
	if !ok {
		return &fault.Error{
			Code:       fault.IdempotencyKeyInUse,
			Message:    "A request with this Idempotency-Key is still running. Try again shortly.",
			RetryAfter: time.Second,
		}
	}
	defer end()
	return write()
}

// find looks up the stored response. It returns errReplayed if there is one, and errErased if its contact was deleted.
func (r *idempotentRequest) find(tx sqlite.Reader) (err error) {
	r.answer, r.replayed = nil, false
	if r.id != "" {
		r.answer, err = idempotency.Find(tx, r.tenant, r.id, r.fingerprint, time.Now())
	}
	if err == nil && r.answer == nil && r.signature != "" && !r.idSigned {
		// the same signed bytes with another key are a repeat; a sender without keys may send them twice
		r.answer, err = idempotency.Find(tx, r.tenant, r.signature, r.id, time.Now())
		if errors.Is(err, idempotency.ErrReused) {
			err = nil
		} else if r.id == "" {
			r.answer = nil
		}
	}
	if err != nil {
		return err
	}
	if r.replayed = r.answer != nil; r.replayed && r.answer.Body == "" {
		return errErased
	}
	if r.replayed {
		return errReplayed
	}
	return nil
}

// check returns the check of a write: that its caller still has the permissions, and that the request has not been
// answered.
func (r *idempotentRequest) check(
	caller *credential.Identity, permissions ...credential.Permission,
) func(tx sqlite.Reader) error {
	return func(tx sqlite.Reader) error {
		if err := confirm(tx, caller, permissions...); err != nil {
			return err
		}
		return r.find(tx)
	}
}

// remember makes this the response, and returns the statements that store it for repeats.
func (r *idempotentRequest) remember(tx sqlite.Reader, answer *idempotency.Answer) ([]sqlite.Statement, error) {
	answer.Tenant = r.tenant
	r.answer = answer
	var statements []sqlite.Statement
	for id, fingerprint := range map[string]string{r.id: r.fingerprint, r.signature: r.id} {
		if id == "" {
			continue
		}
		more, err := idempotency.Remember(tx, id, fingerprint, answer, time.Now())
		if err != nil {
			return nil, err
		}
		statements = append(statements, more...)
	}
	return statements, nil
}

func (r *idempotentRequest) send(e *core.RequestEvent) error {
	if r.replayed {
		e.Response.Header().Set("Idempotency-Replayed", "true")
	}
	return e.Blob(r.answer.Status, "application/json", []byte(r.answer.Body))
}
