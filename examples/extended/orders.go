package main

import (
	"github.com/pocketbase/pocketbase/core"

	"contactbase/server"
)

// emitOrders emits order.paid in the transaction that creates a record of the collection orders.
func emitOrders(app *server.Server) {
	server.DeclareEvent(app, "order.paid", "An order was paid")
	app.OnRecordCreateExecute("orders").BindFunc(func(e *core.RecordEvent) error {
		outer := e.App
		defer func() { e.App = outer }()
		return outer.RunInTransaction(func(tx core.App) error {
			e.App = tx
			if err := e.Next(); err != nil {
				return err
			}
			order := map[string]any{"id": e.Record.Id, "total": e.Record.GetFloat("total")}
			return server.EmitEvent(tx, e.Record.GetString("tenant"), "order.paid", order,
				server.WithContact(e.Record.GetString("contact")))
		})
	})
}
