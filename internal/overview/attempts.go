package overview

import (
	"fmt"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/delivery"
	"contactbase/internal/stamp"
)

// maxAttempts is how many attempts of a delivery are listed.
const maxAttempts = 50

// Attempts returns the last 50 attempts of a delivery, the newest first.
func Attempts(app core.App, deliveryID string) ([]delivery.ShownAttempt, error) {
	attempts := []delivery.ShownAttempt{}
	err := app.DB().
		Select("id", "delivery", "number", "started", "durationMs", "NULLIF([[status]], 0) AS status", "NULLIF([[error]], '') AS error",
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
