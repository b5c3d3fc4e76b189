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

// Bind registers all hooks. bounds limits the records of each tenant. deliveries stores the deliveries of events; sender sends them. wake is
// called after each commit that leaves work to do, such as an event to deliver; it must not block.
func Bind(app core.App, bounds tenant.Bounds, deliveries delivery.Participant, sender *delivery.Sender, wake func()) {
	erase := func(tx core.App, tenantID string, deleted *contact.Contact) error {
		return retention.EraseContacts(tx, deliveries, tenantID, []*contact.Contact{deleted})
	}
	bindAudit(app)
	contact.Bind(app, contact.Hooks{Erase: erase, Wake: wake})
	bindRecipients(app, deliveries)
	bindInput(app)
	bindPartialUpdates(app)
	bindOwners(app, bounds, wake)
	bindCredentials(app)
	bindWebhooks(app, deliveries, sender, wake)
	bindInbound(app)
	bindMembers(app)
	bindLinks(app)
	bindHiddenInput(app)
	bindSchemaGuard(app)
	bindSettings(app)
	bindFixedRows(app)
	bindLogs(app)
}
