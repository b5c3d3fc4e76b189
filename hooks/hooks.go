// Package hooks says what happens when a record changes, whichever way it is written.
package hooks

import "github.com/pocketbase/pocketbase/core"

// Bind registers all hooks. wake is called after each commit that left something to do, such as a delivery; it must not
// block.
func Bind(app core.App, wake func()) {
	bindContacts(app, wake)
	bindOwners(app, wake)
	bindCredentials(app)
	bindWebhooks(app, wake)
	bindInbound(app)
	bindSchemaGuard(app)
	bindLogs(app)
}

// inTransaction runs the rest of a write, and what belongs to it, in one transaction. The event's app is the
// transaction's in between; afterwards it is the one that the hooks after success expect.
func inTransaction(e *core.RecordEvent, write func(tx core.App) error) error {
	outer := e.App
	defer func() { e.App = outer }()
	return outer.RunInTransaction(func(tx core.App) error {
		e.App = tx
		return write(tx)
	})
}
