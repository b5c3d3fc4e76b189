// Package webhook holds the rules of a webhook's record: its URL and filter, its secret, and the headers it sends.
package webhook

import (
	"fmt"
	"time"

	validation "github.com/pocketbase/ozzo-validation/v4"
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/credential"
	"contactbase/internal/secret"
	"contactbase/internal/webhook/filter"
)

// CollectionName is the collection of outbound webhooks.
const CollectionName = "webhooks"

// MemberOwnedField is the field of webhooks whose URL a member of the tenant has set. Only the program writes it.
const MemberOwnedField = "memberOwned"

// Validate checks the filter of a webhook's record, and its URL if that is new: the settings that allow a URL may have changed since, and such a
// webhook can still be disabled. checkURL is that of the sender. The error is a validation.Errors, as PocketBase shows them.
func Validate(record *core.Record, checkURL func(raw string, memberOwned bool) error) error {
	faults := validation.Errors{}
	if address := record.GetString("url"); record.IsNew() || address != record.Original().GetString("url") {
		if err := checkURL(address, record.GetBool(MemberOwnedField)); err != nil {
			faults["url"] = validation.NewError("validation_invalid_url", "The URL "+err.Error()+".")
		}
	}
	if text := record.GetString("filter"); text != "" {
		if _, err := filter.Compile(text); err != nil {
			faults["filter"] = validation.NewError("validation_invalid_filter", "The filter is invalid: "+err.Error()+".")
		}
	}
	return faults.Filter()
}

// secretOverlap is how long both secrets sign after a rotation.
const secretOverlap = 24 * time.Hour

// RotateSecret replaces the webhook's secret and returns the new one. The old one signs beside it for 24 h, or until the next rotation. The
// error is sql.ErrNoRows if there is no such webhook.
func RotateSecret(app core.App, webhookID string) (string, error) {
	plain := secret.New()
	err := app.RunInTransaction(func(tx core.App) error {
		record, err := tx.FindRecordById(CollectionName, webhookID)
		if err != nil {
			return err
		}
		sealed, err := secret.Seal(tx, plain)
		if err != nil {
			return err
		}
		record.SetRaw(credential.RotatedMark, true)
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
