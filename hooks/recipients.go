package hooks

import (
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact"
	"contactbase/internal/delivery"
	"contactbase/internal/sqlite"
	"contactbase/internal/tenant"
)

// bindRecipients has events placed before it changes who gets them: what happened until then is delivered by the
// webhooks as they were.
func bindRecipients(app core.App, deliveries delivery.Participant) {
	change := func(e *core.RecordEvent) error {
		if err := placeBefore(e, deliveries); err != nil {
			return err
		}
		return sqlite.TransactRecord(e, func(tx core.App) error {
			if err := deliveries.PlaceAll(e.Context, tx); err != nil {
				return err
			}
			return e.Next()
		})
	}
	app.OnRecordCreateExecute(delivery.WebhooksCollection).BindFunc(change)
	app.OnRecordUpdateExecute(delivery.WebhooksCollection, tenant.CollectionName).BindFunc(change)
	app.OnRecordDeleteExecute(delivery.WebhooksCollection, tenant.CollectionName).BindFunc(change)

	app.OnRecordDelete(contact.CollectionName).BindFunc(func(e *core.RecordEvent) error {
		if err := placeBefore(e, deliveries); err != nil { // the deletion places the rest, to know what it may erase
			return err
		}
		return e.Next()
	})
}

// placeBefore places events in steps before a transaction that places the rest, so that it is short. Where a transaction
// has begun already, that one places all of them.
func placeBefore(e *core.RecordEvent, deliveries delivery.Participant) error {
	if e.App.IsTransactional() {
		return nil
	}
	return deliveries.PlaceAll(e.Context, e.App)
}
