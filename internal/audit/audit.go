// Package audit keeps the audit log: who changed what, and when. An entry is written in the transaction of its
// change. It names the fields that changed, and has the values of those that hold neither secrets nor personal data.
// Nothing changes an entry, and only retention deletes it.
package audit

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/recordid"
	"contactbase/internal/sqlite"
	"contactbase/internal/stamp"
)

// CollectionName is the collection of the entries.
const CollectionName = "audit_log"

// Action is what an actor did.
type Action string

// The actions. An update that replaces a secret is Rotated, and one that revokes a key is Revoked.
const (
	Created     Action = "created"
	Updated     Action = "updated"
	Deleted     Action = "deleted"
	Rotated     Action = "rotated"
	Revoked     Action = "revoked"
	Exported    Action = "exported"
	Imported    Action = "imported"
	Undone      Action = "undone" // an import
	Merged      Action = "merged"
	Redelivered Action = "redelivered"
	Recovered   Action = "recovered"
	LinkCreated Action = "link_created"
	SignedIn    Action = "signed_in"
)

// Actions are all actions.
var Actions = []Action{
	Created, Updated, Deleted, Rotated, Revoked, Exported, Imported, Undone, Merged, Redelivered, Recovered, LinkCreated,
	SignedIn,
}

// Entry is an entry to write.
type Entry struct {
	Actor      Actor // the zero value for that of the app
	Tenant     string
	Action     Action
	Collection string   // of the record
	Record     string   // id, "" if the action is about none
	Fields     []string // names of what changed, or of what a new record has; nil for none
	Changes    map[string]Change
	Count      int // of what the action was about, 0 if it is about one or if that is unknown
}

const insertSQL = "INSERT INTO `audit_log` (`id`, `tenant`, `actorKind`, " +
	"`actor`, `actorName`, `action`, `collection`, `record`, `fields`, `created`, `changes`, `count`, `reason`) "

// Write writes an entry, as a part of the app's transaction if it has one. Without an actor in the entry, the actor
// is that of an app of As, and otherwise the program itself.
func Write(app core.App, e Entry) error {
	if e.Actor == (Actor{}) {
		e.Actor = Acting(app)
	}
	now := time.Now()
	changes := []byte("{}")
	if len(e.Changes) > 0 {
		var err error
		if changes, err = json.Marshal(e.Changes); err != nil {
			return fmt.Errorf("encoding an entry of the audit log: %w", err)
		}
	}
	const values = "VALUES (:id, :tenant, :actorKind, :actor, :actorName, :action, :collection, :record, :fields, " +
		":created, :changes, :count, '')"
	_, err := sqlite.Exec(app, insertSQL+values, sqlite.Named(map[string]any{
		"id": recordid.New(now), "tenant": e.Tenant, "actorKind": string(e.Actor.Kind), "actor": e.Actor.ID,
		"actorName": e.Actor.Name, "action": string(e.Action), "collection": e.Collection, "record": e.Record,
		"fields": sqlite.List(e.Fields), "created": stamp.Stored(now), "changes": string(changes), "count": e.Count,
	})...)
	if err != nil {
		return fmt.Errorf("writing the audit log: %w", err)
	}
	return nil
}

// WriteAbout writes an entry about a record of a tenant. count is how much the action was about, 0 if that is unknown.
func WriteAbout(app core.App, action Action, collection, record string, count int) error {
	owner, err := sqlite.Value[string](sqlite.Direct(app.ConcurrentDB()),
		"SELECT `tenant` FROM `"+collection+"` WHERE `id` = ?", record)
	if err != nil {
		return fmt.Errorf("reading the tenant of the record %s: %w", record, err)
	}
	return Write(app, Entry{Tenant: owner, Action: action, Collection: collection, Record: record, Count: count})
}

// Disabling returns the statement that records that the program disables a webhook that is enabled, and why. It runs
// in front of that change.
func Disabling(webhookID, reason string, now time.Time) sqlite.Statement {
	return sqlite.Statement{
		Text: insertSQL + "SELECT " + recordid.Function + ", `tenant`, '" + string(System) +
			"', '', '', '" + string(Updated) + "', 'webhooks', `id`, " +
			`'["disabled","disabledReason"]', ?, '{"disabled":{"old":false,"new":true}}', 0, ?` +
			" FROM `webhooks` WHERE `id` = ? AND `disabled` = 0",
		Args: []any{stamp.Stored(now), reason, webhookID},
	}
}

// pruneSQL deletes up to ?2 entries from before ?1. A trigger allows it because of the time in _auditPruning.
const pruneSQL = "DELETE FROM `audit_log` " +
	"WHERE `id` IN (SELECT `id` FROM `audit_log` WHERE `created` < ? ORDER BY `created` LIMIT ?)"

// Prune deletes the entries from before a time. It stops between two chunks when ctx ends.
func Prune(ctx context.Context, app core.App, before time.Time) error {
	at := stamp.Stored(before)
	err := sqlite.InChunks(ctx, app, func(tx core.App, limit int) (int, error) {
		changed, err := sqlite.Run(tx, []sqlite.Statement{
			{Text: "INSERT INTO `_auditPruning` (`before`) VALUES (?)", Args: []any{at}},
			{Text: pruneSQL, Args: []any{at, limit}},
			{Text: "DELETE FROM `_auditPruning`"},
		})
		if err != nil {
			return 0, err
		}
		return int(changed[1]), nil
	})
	if err != nil {
		return fmt.Errorf("pruning the audit log: %w", err)
	}
	return nil
}
