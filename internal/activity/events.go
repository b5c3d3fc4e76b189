package activity

import (
	"database/sql"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/sqlite"
	"contactbase/internal/stamp"
)

// events are counted by hour, minute and kind.
var events = source{
	table: "events",
	rowSQL: "SELECT coalesce((SELECT rowid FROM `events` WHERE `id` = ?1), " +
		"(SELECT rowid FROM `events` WHERE `created` <= ?2 ORDER BY `created` DESC, rowid DESC LIMIT 1), 0)",
	lastSQL: "SELECT `id`, `created` FROM `events` WHERE rowid <= ? ORDER BY rowid DESC LIMIT 1",
	gather:  gatherEvents,
	limit:   5_000,
}

const (
	uncountedEventsSQL = "SELECT `minute`, `type`, count(*), max(`row`) FROM (" +
		"SELECT rowid AS `row`, substr(`created`, 1, 16) AS `minute`, `type` " +
		"FROM `events` WHERE rowid > ? ORDER BY rowid LIMIT ?) GROUP BY `minute`, `type`"
)

func gatherEvents(reader sqlite.Reader, after int64, limit int) (*gathered, error) {
	var statements []sqlite.Statement
	all := &gathered{store: func(sqlite.Reader) ([]sqlite.Statement, error) { return statements, nil }}
	err := sqlite.Each(reader, uncountedEventsSQL, func(rows *sql.Rows) error {
		var minute, kind string
		var n, row int64
		err := rows.Scan(&minute, &kind, &n, &row)
		all.found, all.last = all.found+int(n), max(all.last, row)
		if err != nil {
			return err
		}
		for _, g := range grains {
			statements = append(statements, add(ofEvent, g.in(minute), kind, counts{done: n}))
		}
		return nil
	}, after, limit)
	return all, err
}

// maxTenantEvents is how many events of a tenant are counted, the newest: the stored counts are not by tenant.
const maxTenantEvents = 50_000

const (
	allEventsSQL = "SELECT `start`, `of`, `done` FROM `_activity` " +
		"WHERE `kind` = ? AND `grain` = ? AND `start` IN (SELECT value FROM json_each(?))"
	tenantEventsSQL = "SELECT substr(`created`, 1, ?), `type`, count(*) FROM (" +
		"SELECT `created`, `type` FROM `events` WHERE `tenant` = ? " +
		"ORDER BY rowid DESC LIMIT ?) WHERE `created` >= ? GROUP BY 1, 2"
)

// OfEvents returns the number of events of each kind in each step of the span: of a tenant, whose last 50,000 events
// it counts, or of all tenants if the id is "".
func OfEvents(app core.App, tenantID string, span Span) ([]map[string]int64, error) {
	query, args := allEventsSQL, []any{ofEvent, span.grain().seconds(), span.starts()}
	if tenantID != "" {
		query, args = tenantEventsSQL, []any{len(span.grain().layout), tenantID, maxTenantEvents, stamp.Stored(span.Start)}
	}
	steps := make([]map[string]int64, span.Steps)
	for i := range steps {
		steps[i] = map[string]int64{}
	}
	var kind string
	var n int64
	err := span.read(app, query, args, []any{&kind, &n}, func(step int) error {
		steps[step][kind] += n
		return nil
	})
	return steps, err
}
