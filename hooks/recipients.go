package hooks

import (
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact"
	"contactbase/internal/delivery"
	"contactbase/internal/sqlite"
	"contactbase/internal/tenant"
	"contactbase/internal/webhook"
)

// bindRecipients fans out pending events before webhooks change, so that earlier events go to the webhooks as they were.
func bindRecipients(app core.App, deliveries delivery.Participant) {
	change := func(e *core.RecordEvent) error {
		if err := fanOutBefore(e, deliveries); err != nil {
			return err
		}
		return sqlite.TransactRecord(e, func(tx core.App) error {
			if err := deliveries.FanOut(e.Context, tx); err != nil {
				return err
			}
			return e.Next()
		})
	}
	app.OnRecordCreateExecute(webhook.CollectionName).BindFunc(change)
	app.OnRecordUpdateExecute(webhook.CollectionName, tenant.CollectionName).BindFunc(change)
	app.OnRecordDeleteExecute(webhook.CollectionName, tenant.CollectionName).BindFunc(change)

	app.OnRecordDelete(contact.CollectionName).BindFunc(func(e *core.RecordEvent) error {
		if err := fanOutBefore(e, deliveries); err != nil { // the deletion fans out the rest before it decides what to erase
			return err
		}
		return e.Next()
	})
}

// fanOutBefore fans out most events in chunks, so that the transaction that fans out the rest is short. Inside a transaction, that
// transaction fans out all of them.
func fanOutBefore(e *core.RecordEvent, deliveries delivery.Participant) error {
	if e.App.IsTransactional() {
		return nil
	}
	return deliveries.FanOut(e.Context, e.App)
}
