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
	// inspectedWindow is from when on requests are shown.
	inspectedWindow = 24 * time.Hour

	// maxInspected is how many requests are shown.
	maxInspected = 100

	// maxSearched is how many deliveries are looked at for those that were sent again.
	maxSearched = 1_000
)

// Inspected is a request that a webhook was sent, as it arrived.
type Inspected struct {
	ID       string            `json:"id" db:"id"` // of the attempt; they sort by time
	Delivery string            `json:"delivery" db:"delivery"`
	Started  string            `json:"started" db:"started"`
	Number   int               `json:"number" db:"number"` // of the attempt, from 1
	Error    *string           `json:"error" db:"-"`       // why it was not taken, such as a signature that does not verify
	Type     string            `json:"type" db:"type"`
	Contact  string            `json:"contact" db:"contact"` // "" where the event is about none
	Headers  map[string]string `json:"headers" db:"-"`       // the webhook's own are redacted
	Body     string            `json:"body" db:"body"`
}

// inspectedSQL finds the attempts of the deliveries that changed last, of the 1,000 made last.
const inspectedSQL = `SELECT a.id, d.id AS delivery, a.started, a.number, a.error, e.type, e.contact, a.requestHeaders AS headers, e.payload AS body
FROM (
	SELECT id, event FROM (SELECT id, event, updated FROM deliveries WHERE webhook = {:webhook} ORDER BY created DESC LIMIT {:cap})
	ORDER BY updated DESC LIMIT {:limit}
) d
CROSS JOIN delivery_attempts a ON a.delivery = d.id
CROSS JOIN events e ON e.id = d.event
WHERE a.started >= {:since} AND a.id > {:after}
ORDER BY a.id DESC LIMIT {:limit}`

// Inspect returns the requests that the webhook was sent in the last 24 hours, the latest 100 of them, those of finished
// attempts, the oldest first. after is the ID of one that is known, behind which it begins; "" is all.
// The error is sql.ErrNoRows if the webhook does not exist.
func Inspect(app core.App, webhook, after string, now time.Time) ([]Inspected, error) {
	var exists int
	err := app.DB().NewQuery("SELECT 1 FROM {{webhooks}} WHERE [[id]] = {:webhook}").Bind(dbx.Params{"webhook": webhook}).Row(&exists)
	if err != nil {
		return nil, fmt.Errorf("looking for the webhook %q: %w", webhook, err)
	}
	var rows []struct {
		Inspected
		StoredError   string `db:"error"`
		StoredHeaders string `db:"headers"`
	}
	err = app.DB().NewQuery(inspectedSQL).Bind(dbx.Params{
		"webhook": webhook, "after": after, "since": stamp.Stored(now.Add(-inspectedWindow)), "cap": maxSearched, "limit": maxInspected,
	}).All(&rows)
	if err != nil {
		return nil, fmt.Errorf("reading what the webhook %q was sent: %w", webhook, err)
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
