package audit

import (
	"cmp"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/recordid"
	"contactbase/internal/sqlite"
	"contactbase/internal/stamp"
)

// Query selects entries, the newest first.
type Query struct {
	Tenant       string    // "" for all tenants
	Actor        string    // id or kind of an actor, "" for all
	Action       string    // "" for all
	Collection   string    // of the records, "" for all
	Since, Until time.Time // the zero value for no bound; Until itself is outside
	Before       string    // id of an entry: only older ones; "" for all
	Limit        int
	ForMember    bool // whether superusers and users of commands have no id
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
	// current; "" if it has none or is deleted. The entry of a deletion has the last one, and a deleted member
	// that of their last action
	RecordName string            `json:"recordName"`
	Fields     []string          `json:"fields"`
	Changes    map[string]Change `json:"changes"`
	Count      int               `json:"count,omitempty"`  // of what the action was about
	Reason     string            `json:"reason,omitempty"` // why the program did it
	Created    string            `json:"created"`
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
	{"webhooks", ofTenant("`name`", "webhooks")},
	{"inbound_webhooks", ofTenant("`name`", "inbound_webhooks")},
	{"contacts", ofTenant("`name`", "_imports")}, // of the file
	{"tenant_members", "coalesce(" +
		ofTenant("iif(`name` != '' OR `link`, `name`, `email`)", "tenant_members") + ", " + lastActorName + ")"},
}

// ofTenant returns the value of an expression in an entry's record, which belongs to the entry's tenant.
func ofTenant(value, collection string) string {
	return "(SELECT " + value + " FROM `" + collection + "` WHERE `id` = l.`record` AND `tenant` = l.`tenant`)"
}

// unnamedURL is the URL of an entry's webhook, if it has no name.
var unnamedURL = "iif(l.`collection` = 'webhooks', " + ofTenant("iif(`name` = '', `url`, '')", "webhooks") + ", '')"

// deletedName is the name, or the URL, in the entry of a record's deletion.
const deletedName = "iif(l.`action` = 'deleted', " +
	"coalesce(l.`changes` ->> '$.name.old', l.`changes` ->> '$.url.old'), NULL)"

// maxWalked is how many entries List looks at, if no index serves all of its filters.
const maxWalked = 20_000

var listColumns = func() string {
	var names strings.Builder
	for _, r := range recordNames {
		names.WriteString("WHEN '" + r.collection + "' THEN " + r.name + " ")
	}
	return "l.`id`, l.`tenant`, l.`actorKind`, l.`actor`, l.`actorName`, l.`action`, l.`collection`, l.`record`, " +
		"coalesce(CASE l.`collection` " + names.String() + "END, " + deletedName + ", ''), " +
		"coalesce(" + unnamedURL + ", ''), l.`fields`, " +
		"coalesce(l.`changes`, '{}'), coalesce(l.`count`, 0), coalesce(l.`reason`, ''), l.`created`"
}()

// condition is a part of a WHERE clause.
type condition struct {
	text string
	arg  any
}

// conditions returns those that an index serves, and others.
func (q *Query) conditions() (indexed, others []condition) {
	if q.Tenant != "" {
		indexed = append(indexed, condition{"`tenant` = ?", q.Tenant})
	}
	before := q.Before
	if !q.Until.IsZero() && (before == "" || recordid.From(q.Until) < before) {
		before = recordid.From(q.Until)
	}
	if before != "" {
		indexed = append(indexed, condition{"`id` < ?", before})
	}
	if !q.Since.IsZero() {
		indexed = append(indexed, condition{"`id` >= ?", recordid.From(q.Since)})
	}
	var filters []condition
	switch {
	case slices.Contains(kinds, Kind(q.Actor)):
		others = append(others, condition{"`actorKind` = ?", q.Actor})
	case q.Actor != "":
		filters = append(filters, condition{"`actor` != '' AND `actor` = ?", q.Actor})
		if q.ForMember {
			others = append(others, condition{"`actorKind` NOT IN (?, 'command')", string(Superuser)})
		}
	}
	if q.Action != "" {
		filters = append(filters, condition{"`action` = ?", q.Action})
	}
	if q.Collection != "" {
		filters = append(filters, condition{"`collection` = ?", q.Collection})
	}
	if len(filters) > 0 {
		indexed, others = append(indexed, filters[0]), append(others, filters[1:]...)
	}
	return indexed, others
}

// where returns the WHERE clause of conditions, and its arguments.
func where(conditions []condition) (clause string, args []any) {
	for i, c := range conditions {
		clause += []string{" WHERE ", " AND "}[min(i, 1)] + c.text
		args = append(args, c.arg)
	}
	return clause, args
}

// List returns a page of entries. It may have fewer than Limit although it is not the last one: List looks at
// maxWalked entries at most.
func List(app core.App, q Query) (*Page, error) { return q.list(app, maxWalked) }

func (q *Query) list(app core.App, walk int) (*Page, error) {
	indexed, others := q.conditions()
	inner, args := where(indexed)
	walked := "SELECT * FROM `audit_log`" + inner + " ORDER BY `id` DESC LIMIT ?"
	outer, more := where(others)
	limit := q.Limit + 1
	if len(others) > 0 {
		limit = walk
	}
	page := &Page{Lines: []Line{}}
	db := sqlite.Direct(app.ConcurrentDB())
	err := sqlite.Each(db, "SELECT "+listColumns+" FROM ("+walked+") l"+outer+" ORDER BY l.`id` DESC LIMIT ?",
		page.scan, slices.Concat(args, []any{limit}, more, []any{q.Limit + 1})...)
	if err != nil {
		return nil, fmt.Errorf("reading the audit log: %w", err)
	}
	if len(page.Lines) > q.Limit {
		page.Lines = page.Lines[:q.Limit]
		page.NextBefore = page.Lines[q.Limit-1].ID
		return page, nil
	}
	if len(others) > 0 {
		page.NextBefore, err = sqlite.Value[string](db, "SELECT coalesce((SELECT `id` FROM `audit_log`"+inner+
			" ORDER BY `id` DESC LIMIT 1 OFFSET ?), '')", append(args, walk-1)...)
		if err != nil {
			return nil, fmt.Errorf("reading the audit log: %w", err)
		}
	}
	return page, nil
}

// scan adds an entry.
func (p *Page) scan(rows *sql.Rows) error {
	var line Line
	var url, fields, changes string
	err := rows.Scan(&line.ID, &line.Tenant, &line.ActorKind, &line.Actor, &line.ActorName, &line.Action, &line.Collection,
		&line.Record, &line.RecordName, &url, &fields, &changes, &line.Count, &line.Reason, &line.Created)
	if err != nil {
		return err
	}
	line.Created, line.RecordName = stamp.Show(line.Created), cmp.Or(line.RecordName, ShortURL(url))
	err = errors.Join(json.Unmarshal([]byte(fields), &line.Fields), json.Unmarshal([]byte(changes), &line.Changes))
	if err != nil {
		return err
	}
	p.Lines = append(p.Lines, line)
	return nil
}
