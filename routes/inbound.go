package routes

import (
	"context"
	"errors"
	"net/http"
	"time"
	"unicode/utf8"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact/custom"
	"contactbase/internal/idempotency"
	"contactbase/internal/inbound"
	"contactbase/internal/inbound/payload"
	"contactbase/internal/requests"
	"contactbase/internal/sqlite"
	"contactbase/routes/envelope"
)

// probeInbound answers senders that check the address before they use it.
func (s *server) probeInbound(e *core.RequestEvent) error {
	if _, err := s.webhook(e); err != nil {
		return err
	}
	return envelope.WriteData(e, map[string]string{"status": "ready"})
}

func (s *server) receiveInbound(e *core.RequestEvent) error {
	webhook, err := s.webhook(e)
	if err != nil {
		return err
	}
	if err := s.limits.Receive(e, webhook.ID); err != nil {
		return err
	}
	sent, err := readPosted(e, webhook)
	if err != nil {
		return s.refuse(e, webhook, sent, err)
	}
	request := keyed(sent.key, webhook.TenantID, "inbound "+webhook.ID, nil)
	err = custom.RetryOutdated(e.App, func(app core.App) error { return s.receive(e.Request.Context(), app, webhook, sent, request) })
	if err != nil && !errors.Is(err, errReplayed) {
		return s.refuse(e, webhook, sent, err)
	}
	return request.send(e)
}

// posted is a sender's request.
type posted struct {
	contentType string
	body        []byte // nil if it is too large or its signature is invalid
	key         string // the sender's idempotency key, "" if none
}

// readPosted reads a request. With an error, it returns what may be stored of the request.
func readPosted(e *core.RequestEvent, webhook *inbound.Webhook) (sent posted, err error) {
	sent.contentType = e.Request.Header.Get("Content-Type")
	body, err := envelope.ReadBody(e, payload.MaxBody)
	if err != nil {
		return sent, err
	}
	if webhook.VerifySecret != "" {
		signed := &inbound.Signed{Method: e.Request.Method, URL: addressOf(e), Header: e.Request.Header, Body: body}
		if err := inbound.VerifySignature(webhook.VerifyScheme, webhook.VerifySecret, signed, time.Now()); err != nil {
			return sent, err
		}
	}
	sent.body = body
	sent.key, err = deliveryKey(e.Request.Header)
	return sent, err
}

// addressOf returns the URL of the request as its sender has it, below the Application URL.
func addressOf(e *core.RequestEvent) string {
	address := inbound.Address(e.App, e.Request.PathValue("token"))
	if e.Request.URL.RawQuery != "" {
		address += "?" + e.Request.URL.RawQuery
	}
	return address
}

// receive applies a request once for its key, and returns errReplayed for a repeat. It looks up the key before it checks the body,
// because senders may rebuild the body of a repeat. It reads the body before the transaction, for which all writers wait.
func (s *server) receive(ctx context.Context, app core.App, webhook *inbound.Webhook, sent posted, request *idempotentRequest) error {
	if err := request.find(sqlite.Direct(app.ConcurrentDB())); err != nil {
		return err
	}
	received, err := inbound.Read(app, webhook, sent.contentType, sent.body)
	if err != nil {
		return err
	}
	end, err := s.begin(request)
	if err != nil {
		return err
	}
	defer end()
	return received.Transact(ctx, app, func(tx core.App) error {
		if err := request.find(sqlite.ReaderOf(tx)); err != nil {
			return err
		}
		receipt, err := received.Receive(tx, time.Now())
		if err != nil {
			return err
		}
		answer := &idempotency.Answer{Status: http.StatusOK, Body: dataPrefix + string(receipt.Result) + "}", InboundRequest: receipt.Request}
		_, err = sqlite.Write(tx, func(tx sqlite.Reader) ([]sqlite.Statement, error) { return request.remember(tx, answer) })
		return err
	})
}

// webhook returns the enabled webhook of the token, whose tenant has API access.
func (s *server) webhook(e *core.RequestEvent) (*inbound.Webhook, error) {
	webhook, err := inbound.FindByToken(e.App, e.Request.PathValue("token"))
	if errors.Is(err, inbound.ErrInvalidToken) {
		if limited := s.limits.Refuse(e); limited != nil {
			return nil, limited
		}
	}
	if err == nil && !webhook.APIEnabled {
		err = inbound.ErrNotEnabled
	}
	if err == nil {
		err = webhook.State.Writable()
	}
	if err != nil {
		return nil, err
	}
	return webhook, nil
}

// refuse stores a rejected request, so that an admin can find it.
func (s *server) refuse(e *core.RequestEvent, webhook *inbound.Webhook, sent posted, cause error) error {
	f := envelope.FaultOf(cause)
	if f.Code.IsPlanned() { // the tenant accepts no writes
		return f
	}
	result := map[string]any{"error": map[string]any{"code": f.Code, "message": f.Message}}
	if err := inbound.Record(e.Request.Context(), e.App, webhook, sent.contentType, sent.body, envelope.StatusOf(f), result, time.Now()); err != nil {
		e.App.Logger().Error("storing a rejected inbound request", "requestId", requests.ID(e), "error", err)
	}
	return f
}

// deliveryKey returns the sender's key for a delivery, "" if none.
func deliveryKey(header http.Header) (string, error) {
	if header.Get("Idempotency-Key") != "" {
		return idempotencyKey(header)
	}
	id := header.Get("webhook-id")
	if len(id) > idempotency.MaxKeyLength || !utf8.ValidString(id) {
		return "", envelope.InvalidParameter("webhook-id", "must have 1 to 255 characters, in UTF-8")
	}
	return id, nil
}
