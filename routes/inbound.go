package routes

import (
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/idempotency"
	"contactbase/internal/inbound"
	"contactbase/internal/inbound/payload"
	"contactbase/internal/sqlite"
)

// probeInbound answers senders that look whether the address is there before they use it.
func (s *server) probeInbound(e *core.RequestEvent) error {
	if _, err := s.webhook(e); err != nil {
		return err
	}
	return writeData(e, map[string]string{"status": "ready"})
}

func (s *server) receiveInbound(e *core.RequestEvent) error {
	webhook, err := s.webhook(e)
	if err != nil {
		return err
	}
	if err := s.limits.receive(e, webhook.ID); err != nil {
		return err
	}
	contentType := e.Request.Header.Get("Content-Type")
	body, err := readBody(e, payload.MaxBody)
	if err != nil {
		return s.refuse(e, webhook, contentType, nil, err)
	}
	if webhook.VerifySecret != "" {
		if err := inbound.VerifySignature(webhook.VerifySecret, e.Request.Header, body, time.Now()); err != nil {
			return s.refuse(e, webhook, contentType, nil, err)
		}
	}
	key, err := deliveryKey(e.Request.Header)
	if err != nil {
		return s.refuse(e, webhook, contentType, body, err)
	}
	answer, replayed, err := s.answerInbound(e.App, webhook, key, contentType, body)
	if err != nil {
		return s.refuse(e, webhook, contentType, body, err)
	}
	if replayed {
		e.Response.Header().Set("Idempotency-Replayed", "true")
	}
	return e.Blob(answer.Status, "application/json", []byte(answer.Body))
}

// answerInbound applies a call, once for its key. A sender that repeats a delivery may have rebuilt its body: the key
// alone counts, so that it is looked up before the body is judged. Reading the body may take a while, and is over
// before the transaction that all writers wait for begins.
func (s *server) answerInbound(app core.App, webhook *inbound.Webhook, key, contentType string, body []byte) (answer *idempotency.Answer, replayed bool, err error) {
	scope := "inbound " + webhook.ID
	if key != "" {
		answer, err = idempotency.Find(sqlite.Direct(app.ConcurrentDB()), idempotency.ID(scope, key), idempotency.Fingerprint(nil), time.Now())
		if err != nil || answer != nil {
			return answer, answer != nil, err
		}
	}
	call, err := inbound.Read(app, webhook, contentType, body)
	if err != nil {
		return nil, false, err
	}
	transact := sqlite.Transact
	if !call.Short() {
		transact = core.App.RunInTransaction
	}
	return s.once(app, transact, key, scope, func(tx core.App) (*idempotency.Answer, error) {
		receipt, err := call.Receive(tx, time.Now())
		if err != nil {
			return nil, err
		}
		return &idempotency.Answer{
			Status: http.StatusOK, Body: dataPrefix + string(receipt.Result) + "}", Tenant: webhook.TenantID, InboundRequest: receipt.Request,
		}, nil
	})
}

// webhook returns the enabled webhook of the address, of a tenant with the feature.
func (s *server) webhook(e *core.RequestEvent) (*inbound.Webhook, error) {
	webhook, err := inbound.FindByToken(e.App, e.Request.PathValue("token"))
	if errors.Is(err, inbound.ErrInvalidToken) {
		if limited := s.limits.refuse(e); limited != nil {
			return nil, limited
		}
	}
	if err == nil && !webhook.APIEnabled {
		return nil, inbound.ErrNotEnabled
	}
	return webhook, err
}

// refuse keeps a record of a call that is answered with an error, for the admin who looks for it.
func (s *server) refuse(e *core.RequestEvent, webhook *inbound.Webhook, contentType string, body []byte, cause error) error {
	told := faultOf(cause)
	result := map[string]any{"error": map[string]any{"code": told.Code, "message": told.Message}}
	if err := inbound.Record(e.App, webhook, contentType, body, statusOf(told), result, time.Now()); err != nil {
		e.App.Logger().Error("a refused inbound request could not be kept", "requestId", requestID(e), "error", err)
	}
	return told
}

// deliveryKey returns what the sender tells repeats of a delivery by, and "" where it does not.
func deliveryKey(header http.Header) (string, error) {
	if header.Get("Idempotency-Key") != "" {
		return idempotencyKey(header)
	}
	id := header.Get("webhook-id")
	if len(id) > idempotency.MaxKeyLength {
		return "", invalidParameter("webhook-id", "must have 1 to 255 characters")
	}
	return id, nil
}

// writeData answers with the envelope of a success.
func writeData(e *core.RequestEvent, data any) error {
	encoded, err := json.Marshal(map[string]any{"data": data})
	if err != nil {
		return err
	}
	return e.Blob(http.StatusOK, "application/json", encoded)
}
