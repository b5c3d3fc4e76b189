package routes

import (
	"context"
	"errors"
	"net/http"
	"time"
	"unicode/utf8"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/body"
	"contactbase/internal/contact/custom"
	"contactbase/internal/fault"
	"contactbase/internal/idempotency"
	"contactbase/internal/inbound"
	"contactbase/internal/inbound/payload"
	"contactbase/internal/requests"
	"contactbase/internal/sqlite"
	"contactbase/internal/tenant"
	"contactbase/routes/envelope"
)

// probeInbound answers senders that check the address before they use it.
func (s *server) probeInbound(e *core.RequestEvent) error {
	webhook, err := s.webhook(e)
	if err != nil {
		return err
	}
	shake, wrong := inbound.HandshakeOf(e.Request, webhook, nil)
	if shake == nil {
		return envelope.WriteData(e, map[string]string{"status": "ready"})
	}
	if err := s.limits.Receive(e, webhook.ID, webhook.RateLimit); err != nil {
		return err
	}
	return s.answerHandshake(e, webhook, shake, wrong)
}

// allowInbound answers the OPTIONS of senders of CloudEvents. Other requests have the usual answer of a method that is
// not supported: without CORS, browsers send nothing from another site.
func (s *server) allowInbound(e *core.RequestEvent) error {
	if e.Request.Header.Get("WebHook-Request-Origin") == "" {
		return s.unknown(e)
	}
	return s.probeInbound(e)
}

func (s *server) receiveInbound(e *core.RequestEvent) error {
	webhook, err := s.webhook(e)
	if err != nil {
		return err
	}
	if err := s.limits.Receive(e, webhook.ID, webhook.RateLimit); err != nil {
		return err
	}
	sent := posted{contentType: e.Request.Header.Get("Content-Type")}
	raw, err := envelope.ReadBody(e, payload.MaxBody)
	if err == nil {
		err = envelope.CheckEncoding(e)
	}
	if isUnderWay(err) {
		return err
	}
	var request *idempotentRequest
	if err == nil {
		if shake, wrong := inbound.HandshakeOf(e.Request, webhook, raw); shake != nil {
			return s.answerHandshake(e, webhook, shake, wrong)
		}
		request, err = s.apply(e, webhook, &sent, raw)
	}
	if err != nil {
		return s.refuse(e, webhook, sent, err)
	}
	return request.send(e)
}

// apply applies a request once, and returns it with its response. It adds the body to sent once the signature is valid.
func (s *server) apply(
	e *core.RequestEvent, webhook *inbound.Webhook, sent *posted, raw []byte,
) (*idempotentRequest, error) {
	proof, err := verifyPosted(e, webhook, raw)
	if err != nil {
		return nil, err
	}
	sent.body, sent.contentType = raw, webhook.Mapping.WithTopic(sent.contentType, e.Request.Header.Get)
	request, err := repeatable(webhook, e.Request.Header, raw, proof)
	if err != nil {
		return nil, err
	}
	err = custom.RetryOutdated(e.App, func(app core.App) error {
		return s.receive(e.Request.Context(), app, webhook, *sent, request)
	})
	if errors.Is(err, errReplayed) {
		err = nil
	}
	return request, err
}

// answerHandshake answers a handshake, or refuses an invalid one. It stores the request, and writes nothing else.
func (s *server) answerHandshake(
	e *core.RequestEvent, webhook *inbound.Webhook, shake *inbound.Handshake, wrong error,
) error {
	if wrong != nil {
		return s.refuse(e, webhook, posted{}, wrong)
	}
	s.record(e, webhook, posted{body: []byte(shake.Kept)}, http.StatusOK, map[string]any{"handshake": shake.Sender})
	for name, value := range shake.Header {
		e.Response.Header().Set(name, value)
	}
	if shake.Body == "" {
		return e.NoContent(http.StatusOK)
	}
	return e.Blob(http.StatusOK, shake.ContentType, []byte(shake.Body))
}

// posted is what may be stored of a sender's request.
type posted struct {
	contentType string
	body        []byte // nil if it is too large, encoded or its signature is invalid
}

// isUnderWay reports whether a body was given up while it came. A server that receives too much does
// not store that, too.
func isUnderWay(err error) bool {
	var f *fault.Error
	return errors.As(err, &f) && (f.Code == fault.RateLimited || f.Code == fault.RequestTimeout)
}

// verifyPosted checks the signature if the webhook has a secret, and returns nil otherwise.
func verifyPosted(e *core.RequestEvent, webhook *inbound.Webhook, body []byte) (*inbound.Proof, error) {
	if webhook.Verify.Secret == "" {
		return nil, nil
	}
	signed := &inbound.Signed{Method: e.Request.Method, URL: addressOf(e), Header: e.Request.Header, Body: body}
	return inbound.VerifySignature(&webhook.Verify, signed, time.Now())
}

// addressOf returns the URL of the request as its sender has it, below the Application URL.
func addressOf(e *core.RequestEvent) string {
	address := inbound.Address(e.App, e.Request.PathValue("token"))
	if e.Request.URL.RawQuery != "" {
		address += "?" + e.Request.URL.RawQuery
	}
	return address
}

// receive applies a request once for its key, and returns errReplayed for a repeat. It looks up the key before it
// checks the body, because senders may rebuild the body of a repeat. It reads the body before the transaction, for
// which all writers wait.
func (s *server) receive(
	ctx context.Context, app core.App, webhook *inbound.Webhook, sent posted, request *idempotentRequest,
) error {
	if err := request.find(sqlite.Direct(app.ConcurrentDB())); err != nil {
		return err
	}
	received, invalid := inbound.Read(app, webhook, sent.contentType, sent.body)
	return s.once(app, request, invalid, func() error {
		return received.Transact(ctx, app, func(tx core.App) error {
			if err := request.find(sqlite.ReaderOf(tx)); err != nil {
				return err
			}
			receipt, err := received.Receive(tx, time.Now())
			if err != nil {
				return err
			}
			answer := &idempotency.Answer{
				Status: http.StatusOK, Body: dataPrefix + string(receipt.Result) + "}", InboundRequest: receipt.Request,
			}
			_, err = sqlite.Write(tx, func(tx sqlite.Reader) ([]sqlite.Statement, error) {
				return request.remember(tx, answer)
			})
			return err
		})
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
		err = tenant.ErrNotEnabled
	}
	if err == nil {
		err = webhook.State.Writable()
	}
	if err != nil {
		return nil, err
	}
	e.Set(receiverKey, webhook.ID)
	body.CountFor(e.Request, body.Senders(webhook.TenantID))
	return webhook, nil
}

// refuse stores a rejected request, so that an admin can find it.
func (s *server) refuse(e *core.RequestEvent, webhook *inbound.Webhook, sent posted, cause error) error {
	f := envelope.FaultOf(cause)
	if f.Code.IsPlanned() { // the tenant accepts no writes
		return f
	}
	s.record(e, webhook, sent, envelope.StatusOf(f),
		map[string]any{"error": map[string]any{"code": f.Code, "message": f.Message}})
	return f
}

// record stores a request that is not applied, and its result.
func (s *server) record(
	e *core.RequestEvent, webhook *inbound.Webhook, sent posted, status int, result map[string]any,
) {
	if err := inbound.Record(
		e.Request.Context(), e.App, webhook, sent.contentType, sent.body, status, result, time.Now(),
	); err != nil {
		e.App.Logger().Error("storing an inbound request that is not applied", "requestId", requests.ID(e), "error", err)
	}
}

// repeatable returns the request that is applied once for what names it.
func repeatable(
	webhook *inbound.Webhook, header http.Header, body []byte, proof *inbound.Proof,
) (*idempotentRequest, error) {
	repeat := webhook.RepeatOf(header, body, proof)
	switch {
	case repeat.Header == "Idempotency-Key":
		id, err := idempotencyKey(header)
		if err != nil {
			return nil, err
		}
		repeat.ID = id
	case repeat.Header != "" && (len(repeat.ID) > idempotency.MaxKeyLength || !utf8.ValidString(repeat.ID)):
		return nil, envelope.InvalidParameter(repeat.Header, "must have 1 to 255 characters, in UTF-8")
	}
	scope := "inbound " + webhook.ID
	request := keyed(repeat.ID, webhook.TenantID, scope, nil)
	if repeat.Signature != "" {
		request.signature, request.idSigned = idempotency.ID(scope, "signature", repeat.Signature), repeat.IDSigned
	}
	return request, nil
}
