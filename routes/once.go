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

// call is a request with an idempotency key. The zero value is one without.
type call struct {
	id, fingerprint string
	end             func()
	answer          *idempotency.Answer // of the first request with this key, once it was found
}

// begin claims the key of a request, "" for none, for as long as the request runs.
func (s *server) begin(key, scope string, request []byte) (*call, error) {
	if key == "" {
		return &call{end: func() {}}, nil
	}
	c := &call{id: idempotency.ID(scope, key), fingerprint: idempotency.Fingerprint(request)}
	var ok bool
	if c.end, ok = s.inFlight.Begin(c.id); !ok {
		return nil, &fault.Error{
			Code: fault.IdempotencyKeyInUse, Message: "A request with this Idempotency-Key is still running; repeat it in a moment.", RetryAfter: time.Second,
		}
	}
	return c, nil
}

// find looks for the answer of the first request with this key, in the transaction of this one. It returns errReplayed
// where there is one.
func (c *call) find(tx sqlite.Reader) (err error) {
	if c.id == "" {
		return nil
	}
	if c.answer, err = idempotency.Find(tx, c.id, c.fingerprint, time.Now()); err != nil {
		return err
	}
	if c.answer != nil {
		return errReplayed
	}
	return nil
}

// remember returns the statements that keep the answer.
func (c *call) remember(tx sqlite.Reader, answer *idempotency.Answer) ([]sqlite.Statement, error) {
	if c.id == "" {
		return nil, nil
	}
	return idempotency.Remember(tx, c.id, c.fingerprint, answer, time.Now())
}

// once runs do in a transaction, which transact begins. With a key it does so once: a repeat within the window gets the
// remembered answer, whatever its body.
func (s *server) once(
	app core.App, transact func(core.App, func(core.App) error) error, key, scope string, do func(core.App) (*idempotency.Answer, error),
) (answer *idempotency.Answer, replayed bool, err error) {
	c, err := s.begin(key, scope, nil)
	if err != nil {
		return nil, false, err
	}
	defer c.end()
	err = transact(app, func(tx core.App) error {
		if err := c.find(sqlite.ReaderOf(tx)); err != nil {
			return err
		}
		if answer, err = do(tx); err != nil {
			return err
		}
		statements, err := c.remember(sqlite.ReaderOf(tx), answer)
		if err != nil {
			return err
		}
		_, err = sqlite.Run(tx, statements)
		return err
	})
	if errors.Is(err, errReplayed) {
		return c.answer, true, nil
	}
	return answer, false, err
}
