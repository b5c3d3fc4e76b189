package hooks

import (
	"github.com/pocketbase/pocketbase/apis"
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/audit"
	"contactbase/internal/event"
)

// fixed has the collections whose records nobody can create, change or delete, with the error that superusers get. The program writes
// their rows with SQL.
var fixed = map[string]string{
	audit.CollectionName: "Nobody can change the audit log.", // triggers refuse SQL, too
	event.CollectionName: "Nobody can create, change or delete events, because webhooks and the feed rely on them. To erase a person's data, delete the contact.",
}

func bindFixedRows(app core.App) {
	for collection, reason := range fixed {
		refuse := func(*core.RecordEvent) error { return apis.NewForbiddenError(reason, nil) }
		app.OnRecordCreate(collection).BindFunc(refuse)
		app.OnRecordUpdate(collection).BindFunc(refuse)
		app.OnRecordDelete(collection).BindFunc(refuse)
	}
}
