// Package hooks says what happens when a record changes, however it is written.
package hooks

import (
	"encoding/json"
	"fmt"
	"strings"

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
var administered = []string{
	tenant.CollectionName, credential.CollectionName,
	webhook.CollectionName, inbound.CollectionName, member.CollectionName,
}

// Bind registers all hooks. bounds limits the records of each tenant. sender checks the addresses of webhooks. wake
// is called after each commit that leaves work to do, such as an event to deliver; it must not block.
func Bind(app core.App, bounds tenant.Bounds, sender *delivery.Sender, wake func()) {
	bindAudit(app)
	contact.Bind(app, retention.EraseContact, wake)
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

// bindSettings removes a slash at the end of the application's URL, when it is saved and when it is loaded: links in
// PocketBase's mails would have two in a row, which a proxy for a path does not serve.
func bindSettings(app core.App) {
	trim := func(settings *core.Settings) {
		settings.Meta.AppURL = strings.TrimRight(settings.Meta.AppURL, "/")
	}
	app.OnSettingsUpdateRequest().BindFunc(func(e *core.SettingsUpdateRequestEvent) error {
		trim(e.NewSettings)
		return e.Next()
	})
	app.OnSettingsReload().BindFunc(func(e *core.SettingsReloadEvent) error {
		err := e.Next()
		trim(e.App.Settings())
		return err
	})
}

// bindLogs removes credentials from PocketBase's log table. Every entry passes here.
func bindLogs(app core.App) {
	app.OnModelCreate(core.LogsTableName).BindFunc(func(e *core.ModelEvent) error {
		entry, ok := e.Model.(*core.Log)
		if !ok {
			return e.Next()
		}
		entry.Message = credential.Redact(entry.Message)
		data, err := json.Marshal(entry.Data)
		if err != nil {
			return fmt.Errorf("reading the data of a log entry: %w", err)
		}
		if redacted := credential.Redact(string(data)); redacted != string(data) {
			entry.Data = nil
			if err := json.Unmarshal([]byte(redacted), &entry.Data); err != nil {
				return fmt.Errorf("redacting the data of a log entry: %w", err)
			}
		}
		return e.Next()
	})
}
