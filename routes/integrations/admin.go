package integrations

import (
	"cmp"
	"database/sql"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/hook"

	"contactbase/internal/audit"
	"contactbase/internal/body"
	"contactbase/internal/credential"
	"contactbase/internal/delivery"
	"contactbase/internal/event"
	"contactbase/internal/fault"
	"contactbase/internal/inbound"
	"contactbase/internal/inbound/payload"
	"contactbase/internal/member"
	"contactbase/internal/tenant"
	"contactbase/internal/webhook"
	"contactbase/routes/envelope"
)

// maxAdminBody is the largest body of a superuser, in bytes: it may have a payload to try, whose quotes are escaped.
const maxAdminBody = 2 * payload.MaxBody

// maxSample is the largest body of a test event, in bytes.
const maxSample = 64 << 10

func (s *server) pingWebhook(e *core.RequestEvent) error {
	var sample struct {
		Type string          `json:"type"`
		Body json.RawMessage `json:"body"`
	}
	if err := readAdmin(e, &sample); err != nil {
		return err
	}
	ctx, id := e.Request.Context(), e.Request.PathValue("id")
	if sample.Type == "" && sample.Body == nil {
		attempt, err := delivery.Ping(ctx, s.Deliveries, s.Sender, id)
		return envelope.WriteResult(e, attempt, err)
	}
	var content map[string]json.RawMessage
	switch {
	case !slices.Contains(event.AllKinds(e.App), sample.Type):
		return fault.InvalidField("type", fault.CodeInvalidValue, "must be one of "+strings.Join(event.AllKinds(e.App), ", "))
	case len(sample.Body) > maxSample:
		return fault.InvalidField("body", fault.CodeInvalidValue, "must have at most 64 KiB")
	case json.Unmarshal(sample.Body, &content) != nil || content == nil:
		return fault.InvalidField("body", fault.CodeInvalidValue, "must be a JSON object")
	}
	attempt, err := delivery.Sample(ctx, s.Deliveries, s.Sender, id, event.Kind(sample.Type), content)
	return envelope.WriteResult(e, attempt, err)
}

func (s *server) rotateWebhook(e *core.RequestEvent) error {
	input := struct {
		OverlapHours int `json:"overlapHours"`
	}{webhook.OverlapHours}
	if err := readAdmin(e, &input); err != nil {
		return err
	}
	secret, err := webhook.RotateSecret(e.App, e.Request.PathValue("id"), input.OverlapHours, time.Now())
	return envelope.WriteResult(e, map[string]string{"secret": secret}, err)
}

func (s *server) recoverWebhook(e *core.RequestEvent) error {
	var input struct {
		Since        string `json:"since"`
		Before       bool   `json:"before"`
		RetryPending bool   `json:"retryPending"`
		Pending      bool   `json:"pending"` // the older name of retryPending
		DryRun       bool   `json:"dryRun"`
	}
	if err := readAdmin(e, &input); err != nil {
		return err
	}
	since, err := time.Parse(time.RFC3339, input.Since)
	if err != nil {
		return fault.InvalidField("since", fault.CodeRequired, "must be an RFC 3339 time, such as 2026-01-31T12:00:00Z")
	}
	recovery := delivery.Recovery{
		Since: since, Before: input.Before, RetryPending: input.RetryPending || input.Pending, DryRun: input.DryRun,
	}
	recovery.Turn = s.turns(e)
	missed, err := s.Deliveries.Recover(e.Request.Context(), e.Request.PathValue("id"), recovery)
	if err != nil {
		return err
	}
	if !input.DryRun {
		s.Wake()
		if err := audit.WriteAbout(e.App, audit.Recovered, webhook.CollectionName, e.Request.PathValue("id"),
			missed.Recovered()); err != nil {
			return err
		}
	}
	return envelope.WriteData(e, missed)
}

func (s *server) redeliver(e *core.RequestEvent) error {
	queued, err := s.Deliveries.Redeliver(e.Request.PathValue("id"), time.Now())
	if err != nil {
		return err
	}
	s.Wake()
	if err := audit.WriteAbout(e.App, audit.Redelivered, "deliveries", queued.ID, 0); err != nil {
		return err
	}
	return envelope.WriteData(e, queued)
}

func (s *server) rotateKey(e *core.RequestEvent) error {
	var input struct {
		OverlapHours int             `json:"overlapHours"`
		Expires      json.RawMessage `json:"expires"`
	}
	if err := readAdmin(e, &input); err != nil {
		return err
	}
	rotation := credential.Rotation{
		OverlapHours: input.OverlapHours,
		Unguarded:    member.Is(e.Auth) && member.IsLink(e.Auth),
	}
	if len(input.Expires) > 0 {
		rotation.Expires = &time.Time{} // null is never
		if err := json.Unmarshal(input.Expires, rotation.Expires); err != nil {
			return fault.InvalidField("expires", fault.CodeInvalidValue,
				"must be an RFC 3339 time, such as 2027-01-31T12:00:00Z, or null for a key that does not expire")
		}
	}
	key, err := credential.Rotate(e.App, e.Request.PathValue("id"), rotation, time.Now())
	if err != nil {
		return err
	}
	return envelope.WriteData(e, map[string]string{"key": credential.Minted(key.ProxyRecord())})
}

func (s *server) rotateInbound(e *core.RequestEvent) error {
	record, err := inbound.RotateToken(e.App, e.Request.PathValue("id"))
	if err != nil {
		return err
	}
	token := credential.Minted(record)
	return envelope.WriteData(e, map[string]string{"token": token, "url": inbound.Address(e.App, token)})
}

func (s *server) previewInbound(e *core.RequestEvent) error {
	var input previewRequest
	if err := readAdmin(e, &input); err != nil {
		return err
	}
	webhook, err := input.webhook(e.App)
	if err != nil {
		return err
	}
	received, err := inbound.Read(e.App, webhook, cmp.Or(input.ContentType, "application/json"), input.payload())
	if err != nil {
		return err
	}
	outcome, err := received.Preview(e.App)
	return envelope.WriteResult(e, outcome, err)
}

// previewRequest is a payload to try, with the settings of the inbound webhook that would receive it.
type previewRequest struct {
	Tenant      string          `json:"tenant"`
	ContentType string          `json:"contentType"`
	Body        json.RawMessage `json:"body"`
	Mapping     json.RawMessage `json:"mapping"`
	Access      string          `json:"access"`
}

func (r *previewRequest) webhook(app core.App) (*inbound.Webhook, error) {
	if _, err := app.FindRecordById(tenant.CollectionName, r.Tenant); errors.Is(err, sql.ErrNoRows) {
		return nil, fault.InvalidField("tenant", fault.CodeRequired, "must be the ID of a tenant")
	} else if err != nil {
		return nil, err
	}
	access := cmp.Or(r.Access, inbound.AccessUpsert)
	if access != inbound.AccessUpsert && access != inbound.AccessFull {
		return nil, fault.InvalidField("access", fault.CodeInvalidValue, "must be upsert or full")
	}
	mapping, err := payload.ParseMapping(r.Mapping)
	if err != nil {
		return nil, fault.InvalidField("mapping", fault.CodeInvalidValue, err.Error())
	}
	return &inbound.Webhook{TenantID: r.Tenant, Access: access, Mapping: mapping}, nil
}

// payload returns the payload. A text may have any content type; anything else is JSON.
func (r *previewRequest) payload() []byte {
	var text string
	if json.Unmarshal(r.Body, &text) == nil {
		return []byte(text)
	}
	return r.Body
}

func (s *server) replayInbound(e *core.RequestEvent) error {
	request, err := inbound.FindRequest(e.App, e.Request.PathValue("id"))
	if err != nil {
		return err
	}
	webhook, err := inbound.FindByID(e.App, request.WebhookID)
	if err != nil {
		return err
	}
	end, err := s.Ledger.AwaitDecoding(e.Request.Context(), body.Tenant(webhook.TenantID), request.Size())
	if err != nil {
		return err
	}
	defer end()
	text, err := request.Text()
	if err != nil {
		return err
	}
	received, err := inbound.Read(e.App, webhook, request.ContentType, text)
	if err != nil {
		return err
	}
	var receipt *inbound.Receipt
	err = received.Transact(e.Request.Context(), e.App, func(tx core.App) (err error) {
		receipt, err = received.Receive(tx, time.Now())
		return err
	})
	if err != nil {
		return err
	}
	return envelope.WriteData(e, receipt.Outcome)
}

// readAdmin reads the body of a superuser's or member's request. Without a body, all properties have their defaults.
func readAdmin(e *core.RequestEvent, into any) error {
	if e.Request.ContentLength == 0 {
		return nil
	}
	if err := envelope.CheckJSON(e); err != nil {
		return err
	}
	raw, err := envelope.ReadBody(e, maxAdminBody)
	if err != nil {
		return err
	}
	if !utf8.Valid(raw) {
		return envelope.ErrNotUTF8
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return envelope.InvalidJSON("The request body does not match the expected form: " + err.Error() + ".")
	}
	return nil
}

// recordNotFound turns "no rows" into a fault that says that the record in the path does not exist.
func recordNotFound() *hook.Handler[*core.RequestEvent] {
	return &hook.Handler[*core.RequestEvent]{
		Id: "contactbaseAboutRecord",
		Func: func(e *core.RequestEvent) error {
			err := e.Next()
			if errors.Is(err, sql.ErrNoRows) {
				return errNoRecord
			}
			return err
		},
	}
}
