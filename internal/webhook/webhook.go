// Package webhook holds the rules of a webhook's record: its URL and filter, its secrets, and the headers it sends.
package webhook

import (
	validation "github.com/pocketbase/ozzo-validation/v4"
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/webhook/filter"
)

// CollectionName is the collection of outbound webhooks.
const CollectionName = "webhooks"

// MemberOwnedField is the field of webhooks whose URL a member of the tenant has set. Only the program writes it.
const MemberOwnedField = "memberOwned"

// Validate checks the filter of a webhook's record, and its URL if that is new: the settings that allow a URL may
// have changed since, and such a webhook can still be disabled. checkURL is that of the sender. The error is a
// validation.Errors, as PocketBase shows them.
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
