package overview

import (
	"fmt"
	"slices"
	"time"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/delivery"
	"contactbase/internal/stamp"
)

// Details is a delivery with its URL and body, and the times of its next attempts.
type Details struct {
	Delivery
	Webhook  string   `json:"webhook" db:"webhook"`
	URL      string   `json:"url" db:"url"`
	Body     string   `json:"body" db:"payload"` // the exact body, unless it was erased
	Upcoming []string `json:"upcoming" db:"-"`   // times of the attempts that are left if each fails, the next one first; none while the webhook is disabled
	Disabled bool     `json:"-" db:"disabled"`   // whether the webhook is
}

// DeliveryDetails returns a delivery. The error is sql.ErrNoRows if it does not exist.
func DeliveryDetails(app core.App, id string, now time.Time) (*Details, error) {
	details := &Details{Upcoming: []string{}}
	err := app.DB().
		Select(append(slices.Clone(deliveryColumns), "d.webhook", "w.url", "w.disabled", "e.payload")...).
		From("deliveries d").
		InnerJoin("events e", dbx.NewExp("[[e.id]] = [[d.event]]")).
		InnerJoin("webhooks w", dbx.NewExp("[[w.id]] = [[d.webhook]]")).
		Where(dbx.HashExp{"d.id": id}).One(details)
	if err != nil {
		return nil, fmt.Errorf("reading the delivery %q: %w", id, err)
	}
	if details.Status == delivery.StatusPending && !details.Disabled {
		next := now
		if details.NextAttempt != nil {
			next = stamp.Parse(*details.NextAttempt)
		}
		for _, at := range append([]time.Time{next}, delivery.DefaultPolicy().Rest(details.Attempts, next)...) {
			details.Upcoming = append(details.Upcoming, stamp.Shown(at))
		}
	}
	details.toWire(1, details.Created)
	return details, nil
}
