package hooks

import (
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/delivery"
	"contactbase/internal/inbound"
	"contactbase/internal/member"
)

// hiddenInput has the hidden fields that members write although they cannot read them, by collection.
var hiddenInput = map[string][]string{
	delivery.WebhooksCollection: {"secret", "headers"},
	inbound.CollectionName:      {"verifySecret"},
}

// fromMember is the custom value that marks a record with the input of a member.
const fromMember = "@fromMember"

func bindHiddenInput(app core.App) {
	for collection, fields := range hiddenInput {
		load := func(e *core.RecordRequestEvent) error {
			if err := loadHidden(e, fields); err != nil {
				return err
			}
			return e.Next()
		}
		app.OnRecordCreateRequest(collection).BindFunc(load)
		app.OnRecordUpdateRequest(collection).BindFunc(load)
	}
}

// loadHidden reads hidden fields from a member's request. PocketBase drops those of anybody but superusers in silence: a typed secret
// would be replaced by a generated one.
func loadHidden(e *core.RecordRequestEvent, fields []string) error {
	if !member.Is(e.Auth) {
		return nil
	}
	e.Record.SetRaw(fromMember, true)
	sent := map[string]any{}
	if err := e.BindBody(&sent); err != nil {
		return e.BadRequestError("The request body could not be read.", err)
	}
	for _, field := range fields {
		if value, isSent := sent[field]; isSent {
			e.Record.Set(field, value)
		}
	}
	return nil
}

// noteOwner stores whether a member set the URL of a webhook, when the URL changes. Such a webhook reaches public addresses only.
func noteOwner(webhook *core.Record) {
	if webhook.IsNew() || webhook.GetString("url") != webhook.Original().GetString("url") {
		webhook.Set(delivery.MemberOwnedField, webhook.GetRaw(fromMember) != nil)
		return
	}
	restore(webhook, delivery.MemberOwnedField)
}
