package delivery

import (
	validation "github.com/pocketbase/ozzo-validation/v4"
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/delivery/filter"
)

// WebhooksCollection is the collection of outbound webhooks.
const WebhooksCollection = "webhooks"

// RotatedMark is the custom value that marks a webhook's record whose secrets this package has set, so that the hooks that refuse secrets
// from clients accept it.
const RotatedMark = "@rotated"

// MemberOwnedField is the field of webhooks whose URL a member of the tenant has set. Only the program writes it.
const MemberOwnedField = "memberOwned"

// ValidateWebhook checks the URL and the filter of a webhook's record for the sender. The error is a validation.Errors, as PocketBase shows them.
func ValidateWebhook(record *core.Record, sender *Sender) error {
	faults := validation.Errors{}
	if err := sender.CheckURL(record.GetString("url"), record.GetBool(MemberOwnedField)); err != nil {
		faults["url"] = validation.NewError("validation_invalid_url", "The URL "+err.Error()+".")
	}
	if text := record.GetString("filter"); text != "" {
		if _, err := filter.Compile(text); err != nil {
			faults["filter"] = validation.NewError("validation_invalid_filter", "The filter is invalid: "+err.Error()+".")
		}
	}
	return faults.Filter()
}
