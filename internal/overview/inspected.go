package overview

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/stamp"
)

const (
	inspectedWindow = 24 * time.Hour
	maxInspected    = 100   // requests
	maxSearched     = 1_000 // newest deliveries to look for the latest attempts in
)

// Inspected is a request to a webhook, as it was sent.
type Inspected struct {
	ID       string            `json:"id" db:"id"` // of the attempt; ids sort by time
	Delivery string            `json:"delivery" db:"delivery"`
	Started  string            `json:"started" db:"started"`
	Number   int               `json:"number" db:"number"` // of the attempt, from 1
	Error    *string           `json:"error" db:"-"`       // why the receiver rejected it, such as an invalid signature
	Type     string            `json:"type" db:"type"`
	Contact  string            `json:"contact" db:"contact"` // "" for none
	Headers  map[string]string `json:"headers" db:"-"`       // the values of the webhook's own headers are redacted
	Body     string            `json:"body" db:"body"`
}

// inspectedSQL returns the attempts of the deliveries that changed last, among the 1,000 newest deliveries.
const inspectedSQL = `SELECT a.id, d.id AS delivery, a.started, a.number, a.error, e.type, e.contact,
	a.requestHeaders AS headers, e.payload AS body
FROM (
	SELECT id, event FROM (SELECT id, event, updated FROM deliveries
		WHERE webhook = {:webhook} ORDER BY created DESC LIMIT {:cap})
	ORDER BY updated DESC LIMIT {:limit}
) d
CROSS JOIN delivery_attempts a ON a.delivery = d.id
CROSS JOIN events e ON e.id = d.event
WHERE a.started >= {:since} AND a.id > {:after}
ORDER BY a.id DESC LIMIT {:limit}`

// Inspect returns the last 100 requests of finished attempts to the webhook in the last 24 hours, the oldest
// first. It starts after the attempt with the id after; "" stands for the first. The error is sql.ErrNoRows if the
// webhook does not exist.
func Inspect(app core.App, webhook, after string, now time.Time) ([]Inspected, error) {
	var exists int
	err := app.DB().NewQuery("SELECT 1 FROM {{webhooks}} WHERE [[id]] = {:webhook}").
		Bind(dbx.Params{"webhook": webhook}).Row(&exists)
	if err != nil {
		return nil, fmt.Errorf("finding the webhook %q: %w", webhook, err)
	}
	var rows []struct {
		Inspected
		StoredError   string `db:"error"`
		StoredHeaders string `db:"headers"`
	}
	err = app.DB().NewQuery(inspectedSQL).Bind(dbx.Params{
		"webhook": webhook, "after": after, "since": stamp.Stored(now.Add(-inspectedWindow)),
		"cap": maxSearched, "limit": maxInspected,
	}).All(&rows)
	if err != nil {
		return nil, fmt.Errorf("reading the requests to the webhook %q: %w", webhook, err)
	}
	list := make([]Inspected, 0, len(rows))
	for _, row := range slices.Backward(rows) {
		request := row.Inspected
		request.Started = stamp.Show(request.Started)
		if row.StoredError != "" {
			request.Error = &row.StoredError
		}
		if err := json.Unmarshal([]byte(row.StoredHeaders), &request.Headers); err != nil {
			return nil, fmt.Errorf("reading the headers of the attempt %q: %w", request.ID, err)
		}
		list = append(list, request)
	}
	return list, nil
}
