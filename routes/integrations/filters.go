package integrations

import (
	"database/sql"
	"encoding/json"
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/event"
	"contactbase/internal/fault"
	"contactbase/internal/overview"
	"contactbase/internal/tenant"
	"contactbase/internal/webhook"
	"contactbase/internal/webhook/filter"
	"contactbase/routes/envelope"
)

// filterRequest is a webhook's filter to try. Either tenant or webhook says whose events it is tried on.
type filterRequest struct {
	Filter  string          `json:"filter"`
	Tenant  string          `json:"tenant"`
	Webhook string          `json:"webhook"`
	Event   json.RawMessage `json:"event"` // an event's ID, or the event itself
}

func (s *server) previewFilter(e *core.RequestEvent) error {
	var input filterRequest
	if err := readAdmin(e, &input); err != nil {
		return err
	}
	compiled, err := input.compile()
	if err != nil {
		return err
	}
	owner, err := input.owner(e.App)
	if err != nil {
		return err
	}
	payload, err := input.payload(e.App, owner)
	if err != nil {
		return err
	}
	preview, err := overview.PreviewFilter(e.App, compiled, owner, payload)
	if err != nil {
		return err
	}
	preview.Unknown, err = overview.UnknownNames(e.App, input.Filter)
	return envelope.WriteResult(e, preview, err)
}

func (r *filterRequest) compile() (*filter.Filter, error) {
	if n := utf8.RuneCountInString(r.Filter); n == 0 || n > filter.MaxLength {
		return nil, fault.InvalidField("filter", fault.CodeInvalidValue, "must be an expression of 1 to 1,000 characters")
	}
	compiled, err := filter.Compile(r.Filter)
	if err != nil {
		return nil, fault.InvalidField("filter", fault.CodeInvalidValue, err.Error())
	}
	return compiled, nil
}

// owner returns the id of the tenant whose events the filter is tried on.
func (r *filterRequest) owner(app core.App) (string, error) {
	if (r.Tenant == "") == (r.Webhook == "") {
		return "", fault.InvalidField("tenant", fault.CodeRequired,
			"must be the ID of a tenant, unless webhook is the ID of a webhook")
	}
	if r.Webhook != "" {
		record, err := app.FindRecordById(webhook.CollectionName, r.Webhook)
		if errors.Is(err, sql.ErrNoRows) {
			return "", fault.InvalidField("webhook", fault.CodeInvalidValue, "must be the ID of a webhook")
		} else if err != nil {
			return "", err
		}
		return record.GetString("tenant"), nil
	}
	_, err := app.FindRecordById(tenant.CollectionName, r.Tenant)
	if errors.Is(err, sql.ErrNoRows) {
		return "", fault.InvalidField("tenant", fault.CodeInvalidValue, "must be the ID of a tenant")
	}
	return r.Tenant, err
}

// payload returns the event to try, nil for none.
func (r *filterRequest) payload(app core.App, owner string) ([]byte, error) {
	if len(r.Event) == 0 || string(r.Event) == "null" {
		return nil, nil
	}
	var id string
	if json.Unmarshal(r.Event, &id) != nil {
		if _, err := filter.Parse(r.Event); err != nil {
			return nil, fault.InvalidField("event", fault.CodeInvalidValue, "must be the ID of an event, or an event")
		}
		return r.Event, nil
	}
	payload, err := overview.EventPayload(app, owner, strings.TrimPrefix(id, event.IDPrefix))
	if errors.Is(err, sql.ErrNoRows) {
		return nil, fault.InvalidField("event", fault.CodeInvalidValue, "must be the ID of an event of the tenant")
	}
	return []byte(payload), err
}
