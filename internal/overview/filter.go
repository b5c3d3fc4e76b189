package overview

import (
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact"
	"contactbase/internal/event"
	"contactbase/internal/webhook/filter"
)

// maxFiltered is the number of a tenant's last events that a filter is tried with, and maxFilteredBytes how long
// they may be together.
const (
	maxFiltered      = 100
	maxFilteredBytes = 4 << 20
)

// FilterPreview is what a filter does with events.
type FilterPreview struct {
	Matches *bool    `json:"matches"`           // whether the requested event matches; null without one
	Error   string   `json:"error,omitempty"`   // of the first evaluation that failed, which counts as a match
	Unknown []string `json:"unknown,omitempty"` // names in the filter that no event has, such as data.compny
	Recent  struct {
		Matched  int `json:"matched"`
		Rejected int `json:"rejected"`
	} `json:"recent"` // of the tenant's last 100 events, or fewer if they are long or the filter takes many steps

	steps int // taken for them
}

// try evaluates the filter on an event, and keeps the first error.
func (p *FilterPreview) try(f *filter.Filter, payload []byte) (matches bool, err error) {
	parsed, err := filter.Parse(payload)
	if err != nil {
		return true, err
	}
	p.steps += f.Steps(parsed)
	matches, err = f.Match(parsed)
	if err != nil && p.Error == "" {
		p.Error = filter.Describe(err)
	}
	return matches, nil
}

// noticeFields are the fields in the data of events that are not about contacts.
var noticeFields = []string{"webhook", "key", "expires", "reason"}

// UnknownNames returns the names in a valid filter that no event has: fields that neither contacts nor notices have,
// and unknown event types. The events of extensions may have any fields.
func UnknownNames(app core.App, text string) (unknown []string, err error) {
	fields, err := contact.Names(app)
	if err != nil {
		return nil, fmt.Errorf("reading the fields of contacts: %w", err)
	}
	fields = append(fields, noticeFields...)
	own := len(event.DeclaredBy(app)) > 0
	for _, n := range filter.Names(text) {
		known := fields
		if n.IsType {
			known = event.AllKinds(app)
		}
		if !slices.Contains(known, n.Name) && (n.IsType || !own) {
			unknown = append(unknown, n.Text)
		}
	}
	return unknown, nil
}

// PreviewFilter tries a filter on the last 100 events of a tenant, pings excepted, and on the payload of one
// event, nil for none.
func PreviewFilter(app core.App, f *filter.Filter, tenantID string, payload []byte) (*FilterPreview, error) {
	preview := &FilterPreview{}
	if payload != nil {
		matches, err := preview.try(f, payload)
		if err != nil {
			return nil, err
		}
		preview.Matches = &matches
	}
	if err := preview.tryRecent(app, f, tenantID); err != nil {
		return nil, fmt.Errorf("trying the filter on the last events of the tenant %q: %w", tenantID, err)
	}
	return preview, nil
}

// tryRecent tries a filter on the last events of a tenant, until it has taken as many steps or read as many bytes as
// one event may cost.
func (p *FilterPreview) tryRecent(app core.App, f *filter.Filter, tenantID string) error {
	rows, err := app.ConcurrentDB().NewQuery("SELECT [[payload]] FROM {{events}} WHERE [[tenant]] = {:tenant} " +
		"AND [[type]] != {:ping} AND json_valid([[payload]]) ORDER BY rowid DESC LIMIT {:limit}").
		Bind(dbx.Params{"tenant": tenantID, "ping": string(event.WebhookPing), "limit": maxFiltered}).Rows()
	if err != nil {
		return err
	}
	defer rows.Close()
	p.steps = 0
	for size := 0; size < maxFilteredBytes && p.steps < filter.MaxSteps && rows.Next(); {
		var payload []byte
		if err := rows.Scan(&payload); err != nil {
			return err
		}
		size += len(payload)
		matches, err := p.try(f, payload)
		if err != nil {
			return err
		}
		if matches {
			p.Recent.Matched++
		} else {
			p.Recent.Rejected++
		}
	}
	return rows.Err()
}

// EventPayload returns the payload of a tenant's event. The error is sql.ErrNoRows if there is none.
func EventPayload(app core.App, tenantID, eventID string) (payload string, err error) {
	err = app.DB().NewQuery("SELECT [[payload]] FROM {{events}} WHERE [[id]] = {:id} AND [[tenant]] = {:tenant}").
		Bind(dbx.Params{"id": eventID, "tenant": tenantID}).Row(&payload)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		err = fmt.Errorf("reading the event %q: %w", eventID, err)
	}
	return payload, err
}
