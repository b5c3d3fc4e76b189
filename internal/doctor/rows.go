package doctor

import (
	"cmp"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"time"

	"contactbase/internal/sqlite"
	"contactbase/internal/stamp"
	"contactbase/internal/tenant"
)

// ownership is a column with the ids of the rows that own a table's rows.
type ownership struct {
	table, column, owner, key, advice string
	shared                            bool // whether a row may have no owner
}

func ownerships() []ownership {
	list := []ownership{{
		table: "contacts", column: "id", owner: "_contactSearch", key: "contact",
		advice: "they were written outside the program, for example with SQL, and searches do not find them: create them again with the API",
	}}
	for _, table := range tenant.Tables {
		if table.Deletion == tenant.ByTrigger && table.Key != nil {
			continue // one row for each tenant
		}
		for _, column := range slices.Sorted(maps.Keys(table.Owners)) {
			list = append(list, ownership{table: table.Name, column: column, owner: table.Owners[column], key: "id", shared: table.Shared})
		}
	}
	return list
}

// orphans counts rows without an owner. A running server is still removing those of recent deletions.
func (x *examination) orphans() error {
	leaving, err := sqlite.Value[int](x.data, "SELECT count(*) FROM _deletions")
	if err != nil {
		return err
	}
	if leaving > 0 {
		x.add("orphans", Warning, fmt.Sprintf("data of %d deleted records is still being removed", leaving), "let the server run, then check again")
		return nil
	}
	faults := 0
	for _, o := range ownerships() {
		lost := fmt.Sprintf("FROM %s WHERE %s NOT IN (SELECT %s FROM %s)", o.table, o.column, o.key, o.owner)
		if o.shared {
			lost += " AND " + o.column + " <> ''"
		}
		count, err := sqlite.Value[int](x.data, "SELECT count(*) "+lost)
		if err != nil {
			return err
		}
		if count == 0 {
			continue
		}
		faults++
		advice := cmp.Or(o.advice, "back up, stop the program, and delete them with sqlite3: DELETE "+lost)
		x.add("orphans", Failed, fmt.Sprintf("%d rows of %s whose %s is not in %s", count, o.table, o.column, o.owner), advice)
	}
	if faults == 0 {
		x.add("orphans", OK, "every row has its owner", "")
	}
	return nil
}

// clockSlack is how far two clocks may differ unnoticed.
const clockSlack = time.Minute

// clock looks for events in the future: the clock was ahead then, or is behind now.
func (x *examination) clock() error {
	newest, err := sqlite.Value[string](x.data, "SELECT coalesce(max(created), '') FROM events")
	if err != nil {
		return err
	}
	ahead := stamp.Parse(newest).Sub(x.now)
	if newest == "" || ahead < clockSlack {
		x.add("clock", OK, "no event is in the future", "")
		return nil
	}
	x.add("clock", Warning, fmt.Sprintf("the newest event is %s ahead of this machine's clock", ahead.Round(time.Second)),
		"synchronize the clock with NTP, for example with timedatectl set-ntp true")
	return nil
}

// A webhook is failing if a delivery that was attempted has been pending for this long.
const failingFor = time.Hour

// webhooks looks for webhooks that were disabled automatically, and for those that accept nothing.
func (x *examination) webhooks() error {
	const query = "SELECT w.id, w.url, w.disabled, w.disabledReason, (SELECT coalesce(min(d.created), '') FROM deliveries d " +
		"WHERE d.webhook = w.id AND d.status = 'pending' AND d.attempts > 0) FROM webhooks w ORDER BY w.id"
	total, faults := 0, 0
	err := sqlite.Each(x.data, query, func(rows *sql.Rows) error {
		var id, url, reason, oldest string
		var disabled bool
		if err := rows.Scan(&id, &url, &disabled, &reason, &oldest); err != nil {
			return err
		}
		total++
		again := "contactbase webhook enable " + id + "; contactbase webhook recover " + id + " --since <when it began>"
		switch {
		case disabled && reason != "":
			faults++
			x.add("webhooks", Warning, fmt.Sprintf("%s (%s) was disabled: %s", id, url, reason), "check that it responds: contactbase webhook ping "+id+"; "+again)
		case oldest != "" && x.now.Sub(stamp.Parse(oldest)) > failingFor:
			faults++
			x.add("webhooks", Warning, fmt.Sprintf("%s (%s) has accepted none of its pending deliveries since %s", id, url, stamp.Show(oldest)), "check its response: contactbase webhook ping "+id)
		}
		return nil
	})
	if faults == 0 {
		found := "no webhooks yet"
		if total > 0 {
			found = fmt.Sprintf("webhooks: %d, none disabled by failures or failing for over an hour", total)
		}
		x.add("webhooks", OK, found, "")
	}
	return err
}

// fanOutTimeout is how long an event may lack deliveries while a server runs.
const fanOutTimeout = time.Minute

// fanOutLag looks for events without deliveries. Those of a tenant without webhooks need none.
func (x *examination) fanOutLag() error {
	const query = "SELECT count(*), coalesce(min(created), '') FROM events WHERE tenant IN (SELECT tenant FROM webhooks) AND " +
		"rowid > coalesce((SELECT e.rowid FROM _fanOutCursor p JOIN events e ON e.id = p.event), 0)"
	var count int
	var oldest string
	err := sqlite.Each(x.data, query, func(rows *sql.Rows) error { return rows.Scan(&count, &oldest) })
	if err != nil {
		return err
	}
	if count == 0 || x.now.Sub(stamp.Parse(oldest)) < fanOutTimeout {
		x.add("deliveries", OK, "every event has its deliveries", "")
		return nil
	}
	x.add("deliveries", Warning, fmt.Sprintf("%d events since %s have no deliveries yet", count, stamp.Show(oldest)), "start the server, or find the cause in its log; do not serve a restored copy, which would send them, too")
	return nil
}

// moving looks for tenants that are closed for writes, which is easily forgotten.
func (x *examination) moving() error {
	const query = "SELECT count(*), coalesce(min(created), ''), coalesce(sum(state = 'arriving'), 0) FROM _moves"
	var count, arriving int
	var oldest string
	err := sqlite.Each(x.data, query, func(rows *sql.Rows) error { return rows.Scan(&count, &oldest, &arriving) })
	if err != nil {
		return err
	}
	switch {
	case count == 0:
		x.add("moves", OK, "no tenant is closed for writes", "")
	case arriving > 0:
		x.add("moves", Warning, fmt.Sprintf("tenants whose import is incomplete: %d", arriving), "continue with contactbase tenant import --resume, or delete them with contactbase tenant delete")
	default:
		x.add("moves", Warning, fmt.Sprintf("tenants closed for writes: %d, the first since %s; contactbase tenant list shows them", count, stamp.Show(oldest)),
			"delete those that have moved: contactbase tenant delete; open those that stay: contactbase tenant unfreeze")
	}
	return nil
}
