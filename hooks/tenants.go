package hooks

import (
	"fmt"

	validation "github.com/pocketbase/ozzo-validation/v4"
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/credential"
	"contactbase/internal/delivery"
	"contactbase/internal/inbound"
	"contactbase/internal/retention"
	"contactbase/internal/sqlite"
	"contactbase/internal/tenant"
)

// bindOwners deletes tenants and webhooks of either kind at once, and their rows in small chunks afterwards.
func bindOwners(app core.App, wake func()) {
	owners := []string{tenant.CollectionName, delivery.WebhooksCollection, inbound.CollectionName}
	app.OnRecordDeleteExecute(owners...).BindFunc(deleteOwner)
	app.OnRecordAfterDeleteSuccess(owners...).BindFunc(func(e *core.RecordEvent) error {
		wake()
		return e.Next()
	})
	app.OnRecordCreateExecute(credential.CollectionName, delivery.WebhooksCollection, inbound.CollectionName).BindFunc(createOwned)
}

// deleteOwner does not go on to PocketBase, which would delete what belongs to the record one by one, in the one
// transaction that all writers wait for.
func deleteOwner(e *core.RecordEvent) error {
	return sqlite.TransactRecord(e, func(tx core.App) error { return retention.Delete(tx, e.Record) })
}

// createOwned checks again in the transaction that the tenant is there: it may have been deleted since the record was
// validated, and what is created then would outlive it.
func createOwned(e *core.RecordEvent) error {
	return sqlite.TransactRecord(e, func(tx core.App) error {
		if _, err := tx.FindRecordById(tenant.CollectionName, e.Record.GetString("tenant")); err != nil {
			return validation.Errors{"tenant": validation.NewError("validation_missing_rel_records", fmt.Sprintf("There is no tenant %q.", e.Record.GetString("tenant")))}
		}
		return e.Next()
	})
}
