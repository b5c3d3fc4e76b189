// Package hooks says what happens when a record changes, however it is written.
package hooks

import (
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact"
	"contactbase/internal/credential"
	"contactbase/internal/delivery"
	"contactbase/internal/inbound"
	"contactbase/internal/member"
	"contactbase/internal/retention"
	"contactbase/internal/tenant"
	"contactbase/internal/webhook"
)

// administered are the collections that superusers and members administer.
var administered = []string{tenant.CollectionName, credential.CollectionName, webhook.CollectionName, inbound.CollectionName, member.CollectionName}

// Bind registers all hooks. bounds limits the records of each tenant. sender sends the deliveries of events. wake is called after each
// commit that leaves work to do, such as an event to deliver; it must not block.
func Bind(app core.App, bounds tenant.Bounds, sender *delivery.Sender, wake func()) {
	bindAudit(app)
	contact.Bind(app, contact.Hooks{Erase: retention.EraseContact, Wake: wake})
	bindInput(app)
	bindPartialUpdates(app)
	bindOwners(app, bounds, wake)
	bindCredentials(app)
	bindWebhooks(app, sender, wake)
	bindInbound(app)
	bindMembers(app)
	bindLinks(app)
	bindHiddenInput(app)
	bindSchemaGuard(app)
	bindSettings(app)
	bindFixedRows(app)
	bindLogs(app)
}
