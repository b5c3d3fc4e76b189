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
	Webhook string `json:"webhook" db:"webhook"`
	URL     string `json:"url" db:"url"`
	Body    string `json:"body" db:"payload"` // the exact body, unless it was erased
	// times of the attempts that are left if each fails, the next one first; none while the webhook is disabled
	Upcoming []string `json:"upcoming" db:"-"`
	Disabled bool     `json:"-" db:"disabled"` // whether the webhook is
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

// maxAttempts is how many attempts of a delivery are listed.
const maxAttempts = 50

// Attempts returns the last 50 attempts of a delivery, the newest first.
func Attempts(app core.App, deliveryID string) ([]delivery.ShownAttempt, error) {
	attempts := []delivery.ShownAttempt{}
	err := app.DB().
		Select("id", "delivery", "number", "started", "durationMs",
			"NULLIF([[status]], 0) AS status", "NULLIF([[error]], '') AS error",
			"requestHeaders", "responseHeaders", "responseBody").
		From("delivery_attempts").
		Where(dbx.HashExp{"delivery": deliveryID}).
		OrderBy("started DESC", "id DESC").Limit(maxAttempts).All(&attempts)
	if err != nil {
		return nil, fmt.Errorf("listing the attempts of the delivery %q: %w", deliveryID, err)
	}
	for i := range attempts {
		attempts[i].Started = stamp.Show(attempts[i].Started)
	}
	return attempts, nil
}
