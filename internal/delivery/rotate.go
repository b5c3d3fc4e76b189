package delivery

import (
	"fmt"
	"time"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/secret"
)

// secretOverlap is how long both secrets sign after a rotation.
const secretOverlap = 24 * time.Hour

// RotateSecret replaces the webhook's secret and returns the new one. The old one signs beside it for 24 h, or until the next rotation. The error is sql.ErrNoRows if there is no such webhook.
func RotateSecret(app core.App, webhookID string) (string, error) {
	plain := secret.New()
	err := app.RunInTransaction(func(tx core.App) error {
		record, err := tx.FindRecordById(WebhooksCollection, webhookID)
		if err != nil {
			return err
		}
		sealed, err := secret.Seal(tx, plain)
		if err != nil {
			return err
		}
		record.SetRaw(RotatedMark, true)
		record.Set("previousSecret", record.GetString("secret"))
		record.Set("previousSecretUntil", time.Now().UTC().Add(secretOverlap))
		record.Set("secret", sealed)
		return tx.Save(record)
	})
	if err != nil {
		return "", fmt.Errorf("rotating the secret of the webhook %q: %w", webhookID, err)
	}
	return plain, nil
}
