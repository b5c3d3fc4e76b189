package overview

import (
	"fmt"
	"time"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/types"

	"contactbase/internal/activity"
	"contactbase/internal/inbound"
	"contactbase/internal/inbound/payload"
	"contactbase/internal/stamp"
)

// InboundRequest is a request to an inbound webhook, and its result.
type InboundRequest struct {
	ID          string        `json:"id" db:"id"`
	Inbound     string        `json:"inbound" db:"inbound"`
	ContentType string        `json:"contentType" db:"contentType"`
	Status      int           `json:"status" db:"status"` // of the response
	Result      types.JSONRaw `json:"result" db:"result"` // the outcome, or an error envelope
	Erased      bool          `json:"erased" db:"erased"` // with its contact
	Created     string        `json:"created" db:"created"`
}

// InboundRequestDetails is a request with its body.
type InboundRequestDetails struct {
	InboundRequest
	Body   string `json:"body" db:"body"`
	Stored bool   `json:"stored" db:"-"` // false if Body only names what a body had that was too large
}

// InboundPage is a page of requests.
type InboundPage struct {
	Items      []InboundRequest `json:"items"`
	Page       int              `json:"page"` // from 1
	PerPage    int              `json:"perPage"`
	TotalItems int              `json:"totalItems"` // at most 10,000
	TotalPages int              `json:"totalPages"`
	Limited    int64            `json:"limited"` // requests of the last 24 hours beyond a limit, which are not stored
}

var inboundColumns = []string{"id", "inbound", "contentType", "status", "result", "erased", "created"}

// InboundRequests returns a page of the last 10,000 requests to an inbound webhook, the newest first.
func InboundRequests(app core.App, inboundID string, page, perPage int) (*InboundPage, error) {
	found := &InboundPage{Items: []InboundRequest{}, Page: page, PerPage: perPage}
	err := app.DB().NewQuery(
		"SELECT COUNT(*) FROM (SELECT 1 FROM {{inbound_requests}} WHERE [[inbound]] = {:inbound} LIMIT {:cap})",
	).
		Bind(dbx.Params{"inbound": inboundID, "cap": countCap}).Row(&found.TotalItems)
	if err != nil {
		return nil, fmt.Errorf("counting the requests to the inbound webhook %q: %w", inboundID, err)
	}
	refused, err := activity.OfInbound(app, inboundID, activity.Day(time.Now()))
	if err != nil {
		return nil, err
	}
	for _, step := range refused {
		found.Limited += step.Limited
	}
	found.TotalPages = (found.TotalItems + perPage - 1) / perPage
	if page > found.TotalPages {
		return found, nil
	}
	err = app.DB().Select(inboundColumns...).From("inbound_requests").Where(dbx.HashExp{"inbound": inboundID}).
		OrderBy("created DESC", "id DESC").Limit(int64(perPage)).Offset(int64(page-1) * int64(perPage)).All(&found.Items)
	if err != nil {
		return nil, fmt.Errorf("listing the requests to the inbound webhook %q: %w", inboundID, err)
	}
	for i := range found.Items {
		found.Items[i].Created = stamp.Show(found.Items[i].Created)
	}
	return found, nil
}

// InboundRequestOf returns a request with its body. The error is sql.ErrNoRows if it does not exist.
func InboundRequestOf(app core.App, id string) (*InboundRequestDetails, error) {
	found := &InboundRequestDetails{}
	err := app.DB().Select(append([]string{"body"}, inboundColumns...)...).
		From("inbound_requests").Where(dbx.HashExp{"id": id}).One(found)
	if err != nil {
		return nil, fmt.Errorf("reading the inbound request %q: %w", id, err)
	}
	found.Created = stamp.Show(found.Created)
	found.Body, found.Stored = inbound.BodyText(found.Body, payload.MaxBody)
	return found, nil
}
