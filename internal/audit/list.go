package audit

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/sqlite"
	"contactbase/internal/stamp"
)

// Query selects entries, the newest first.
type Query struct {
	Tenant string // "" for all tenants
	Before string // id of an entry: only older ones; "" for all
	Limit  int
}

// Line is an entry of the list.
type Line struct {
	ID         string `json:"id"`
	Tenant     string `json:"tenant"` // "" for none
	ActorKind  Kind   `json:"actorKind"`
	Actor      string `json:"actor"`
	ActorName  string `json:"actorName"`
	Action     Action `json:"action"`
	Collection string `json:"collection"`
	Record     string `json:"record"`
	// current; "" if it has none or is deleted. A deleted member's is that of their last action
	RecordName string   `json:"recordName"`
	Fields     []string `json:"fields"`
	Created    string   `json:"created"`
}

// Page is a page of the list.
type Page struct {
	Lines      []Line `json:"data"`
	NextBefore string `json:"nextBefore,omitempty"` // for the next page; "" on the last one
}

// lastActorName is what a record was called when it last acted itself.
const lastActorName = "(SELECT `actorName` FROM `audit_log` a WHERE a.`actor` = l.`record` " +
	"AND a.`actor` != '' AND a.`tenant` = l.`tenant` ORDER BY a.`id` DESC LIMIT 1)"

// recordNames are the expressions of the name of an entry's record, by its collection.
var recordNames = []struct{ collection, name string }{
	{"tenants", "(SELECT `name` FROM `tenants` WHERE `id` = l.`record`)"},
	{"api_keys", ofTenant("`name`", "api_keys")},
	{"webhooks", ofTenant("iif(`name` != '', `name`, `url`)", "webhooks")},
	{"inbound_webhooks", ofTenant("`name`", "inbound_webhooks")},
	{"tenant_members", "coalesce(" +
		ofTenant("iif(`name` != '' OR `link`, `name`, `email`)", "tenant_members") + ", " + lastActorName + ")"},
}

// ofTenant returns the value of an expression in an entry's record, which belongs to the entry's tenant.
func ofTenant(value, collection string) string {
	return "(SELECT " + value + " FROM `" + collection + "` WHERE `id` = l.`record` AND `tenant` = l.`tenant`)"
}

var listSQL = func() string {
	var names strings.Builder
	for _, r := range recordNames {
		names.WriteString("WHEN '" + r.collection + "' THEN " + r.name + " ")
	}
	return "SELECT l.`id`, l.`tenant`, l.`actorKind`, l.`actor`, l.`actorName`, l.`action`, l.`collection`, l.`record`, " +
		"coalesce(CASE l.`collection` " + names.String() + "END, ''), l.`fields`, l.`created` FROM `audit_log` l"
}()

// List returns a page of entries.
func List(app core.App, q Query) (*Page, error) {
	var conditions []string
	var args []any
	if q.Tenant != "" {
		conditions, args = append(conditions, "l.`tenant` = ?"), append(args, q.Tenant)
	}
	if q.Before != "" {
		conditions, args = append(conditions, "l.`id` < ?"), append(args, q.Before)
	}
	query := listSQL
	if len(conditions) > 0 {
		query += " WHERE " + strings.Join(conditions, " AND ")
	}
	page := &Page{Lines: []Line{}}
	query += " ORDER BY l.`id` DESC LIMIT ?"
	err := sqlite.Each(sqlite.Direct(app.ConcurrentDB()), query, func(rows *sql.Rows) error {
		var line Line
		var fields string
		err := rows.Scan(&line.ID, &line.Tenant, &line.ActorKind, &line.Actor, &line.ActorName,
			&line.Action, &line.Collection, &line.Record, &line.RecordName, &fields, &line.Created)
		if err != nil {
			return err
		}
		line.Created = stamp.Show(line.Created)
		page.Lines = append(page.Lines, line)
		return json.Unmarshal([]byte(fields), &page.Lines[len(page.Lines)-1].Fields)
	}, append(args, q.Limit+1)...)
	if err != nil {
		return nil, fmt.Errorf("reading the audit log: %w", err)
	}
	if len(page.Lines) > q.Limit {
		page.Lines = page.Lines[:q.Limit]
		page.NextBefore = page.Lines[q.Limit-1].ID
	}
	return page, nil
}
