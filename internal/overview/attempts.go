package overview

import (
	"fmt"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/types"

	"contactbase/internal/stamp"
)

// maxAttempts is how many attempts of a delivery are listed.
const maxAttempts = 50

// Attempt is a finished attempt of a delivery.
type Attempt struct {
	ID              string        `json:"id" db:"id"`
	Delivery        string        `json:"delivery" db:"delivery"`
	Number          int           `json:"number" db:"number"` // from 1
	Started         string        `json:"started" db:"started"`
	DurationMs      int           `json:"durationMs" db:"durationMs"`
	Status          *int          `json:"status" db:"status"` // nil without a response
	Error           *string       `json:"error" db:"error"`   // nil if there was a complete response
	RequestHeaders  types.JSONRaw `json:"requestHeaders" db:"requestHeaders"`
	ResponseHeaders types.JSONRaw `json:"responseHeaders" db:"responseHeaders"`
	ResponseBody    string        `json:"responseBody" db:"responseBody"` // the first 16 KiB
}

// Attempts returns the last 50 attempts of a delivery, the newest first.
func Attempts(app core.App, deliveryID string) ([]Attempt, error) {
	attempts := []Attempt{}
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
