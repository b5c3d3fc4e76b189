package doctor

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"contactbase/internal/sqlite"
	"contactbase/internal/tenant"
)

// ownership is a column with the ids of the rows that own a table's rows.
type ownership struct {
	table, column, owner, key, advice string
	shared                            bool   // whether a row may have no owner
	where                             string // a condition on the rows; "" for all
}

// ofMembers selects the rows that PocketBase keeps about the sign-ins of members.
const ofMembers = "collectionRef = (SELECT id FROM _collections WHERE name = 'tenant_members')"

// furtherOwnerships are those that tenant.Tables does not name.
var furtherOwnerships = []ownership{
	{
		table: "contacts", column: "id", owner: "_contactSearch", key: "contact",
		advice: "they were written outside the program, for example with SQL, " +
			"and searches do not find them: create them again with the API",
	},
	{table: "_contactSearch", column: "tenant", owner: "tenants"},
	{table: "inbound_requests", column: "tenant", owner: "tenants"},
	{table: "deliveries", column: "tenant", owner: "tenants"},
	{table: "_fanOutSince", column: "tenant", owner: "tenants"},
	{table: "_importContacts", column: "contact", owner: "contacts"},
	{table: "_importCreated", column: "contact", owner: "contacts"},
	{table: "_idempotency", column: "inboundRequest", owner: "inbound_requests", shared: true},
	{table: "_keptCalls", column: "key", owner: "api_keys", shared: true},            // or of no key
	{table: "tenant_members", column: "key", owner: "api_keys", shared: true},        // or of no link that a key made
	{table: "_moves", column: "tenant", owner: "tenants", where: "state = 'frozen'"}, // one that arrives is not there yet
	{table: "_knownAddresses", column: "account", owner: "tenant_members",
		where: "account NOT IN (SELECT id FROM _superusers)"},
	{table: "_externalAuths", column: "recordRef", owner: "tenant_members", where: ofMembers},
	{table: "_mfas", column: "recordRef", owner: "tenant_members", where: ofMembers},
	{table: "_otps", column: "recordRef", owner: "tenant_members", where: ofMembers},
	{table: "_authOrigins", column: "recordRef", owner: "tenant_members", where: ofMembers},
}

func ownerships() []ownership {
	list := slices.Clone(furtherOwnerships)
	for _, table := range tenant.Tables {
		if table.Name == "_moves" {
			continue
		}
		for _, column := range slices.Sorted(maps.Keys(table.Owners)) {
			list = append(list, ownership{table: table.Name, column: column, owner: table.Owners[column], shared: table.Shared})
		}
	}
	return list
}

// lost returns the FROM clause of the rows without an owner. A running server is still removing those of
// recently deleted records.
func (o *ownership) lost(hasTenant bool) string {
	from := fmt.Sprintf("FROM %s WHERE %s NOT IN (SELECT %s FROM %s)", o.table, o.column, cmp.Or(o.key, "id"), o.owner)
	if o.shared {
		from += " AND " + o.column + " <> ''"
	}
	if o.where != "" {
		from += " AND " + o.where
	}
	from += " AND " + o.column + " NOT IN (SELECT record FROM _deletions)"
	if hasTenant && o.column != "tenant" {
		from += " AND tenant NOT IN (SELECT record FROM _deletions)"
	}
	return from
}

// orphans counts rows without an owner.
func (x *examination) orphans() error {
	leaving, err := sqlite.Value[int](x.data, "SELECT count(*) FROM _deletions")
	if err != nil {
		return err
	}
	if leaving > 0 {
		x.add("orphans", Warning, fmt.Sprintf("data of %d deleted records is still being removed", leaving),
			"let the server run, then check again")
	}
	columns, err := sqlite.Values[string](x.data,
		"SELECT s.name || '.' || c.name FROM sqlite_schema s, pragma_table_info(s.name) c WHERE s.type = 'table'")
	if err != nil {
		return err
	}
	faults := 0
	for _, o := range ownerships() {
		if !slices.Contains(columns, o.table+"."+o.column) {
			continue // as the schema's finding tells
		}
		lost := o.lost(slices.Contains(columns, o.table+".tenant"))
		count, err := sqlite.Value[int](x.data, "SELECT count(*) "+lost)
		if err != nil {
			return err
		}
		if count == 0 {
			continue
		}
		faults++
		advice := cmp.Or(o.advice, "back up, stop the program, and delete them with sqlite3: DELETE "+lost)
		x.add("orphans", Failed,
			fmt.Sprintf("%d rows of %s whose %s is not in %s", count, o.table, o.column, o.owner), advice)
	}
	if faults == 0 && leaving == 0 {
		x.add("orphans", OK, "every row has its owner", "")
	}
	return nil
}
