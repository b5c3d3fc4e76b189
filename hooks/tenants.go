package hooks

import (
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/tenant"
)

func bindTenants(app core.App) {
	app.OnRecordDeleteExecute(tenant.CollectionName).BindFunc(deleteTenant)
}

func deleteTenant(e *core.RecordEvent) error {
	return inTransaction(e, func(tx core.App) error {
		if err := tenant.DeleteBelongings(tx, e.Record.Id); err != nil {
			return err
		}
		return e.Next()
	})
}
