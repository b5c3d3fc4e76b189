// Package hooks says what happens when a record changes, whichever way it is written.
package hooks

import (
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact"
	"contactbase/internal/retention"
)

// Bind registers all hooks. wake is called after each commit that left something to do, such as a delivery; it must not
// block.
func Bind(app core.App, wake func()) {
	contact.Bind(app, contact.Hooks{Erase: retention.EraseContact, Wake: wake})
	bindOwners(app, wake)
	bindCredentials(app)
	bindWebhooks(app, wake)
	bindInbound(app)
	bindSchemaGuard(app)
	bindLogs(app)
}
