package activity

import (
	"database/sql"
	"fmt"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/sqlite"
)

// events are counted by hour and kind.
var events = source{
	table: "events",
	rowSQL: "SELECT coalesce((SELECT rowid FROM `events` WHERE `id` = ?1), " +
		"(SELECT rowid FROM `events` WHERE `created` <= ?2 ORDER BY `created` DESC, rowid DESC LIMIT 1), 0)",
	lastSQL: "SELECT `id`, `created` FROM `events` WHERE rowid <= ? ORDER BY rowid DESC LIMIT 1",
	gather:  gatherEvents,
	limit:   5_000,
}

const (
	uncountedEventsSQL = "SELECT `hour`, `type`, count(*), max(`row`) FROM (" +
		"SELECT rowid AS `row`, substr(`created`, 1, 13) AS `hour`, `type` FROM `events` WHERE rowid > ? ORDER BY rowid LIMIT ?) GROUP BY `hour`, `type`"
	eventsSQL = "INSERT INTO `_eventHours` (`hour`, `type`, `events`) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET `events` = `events` + excluded.`events`"
)

func gatherEvents(reader sqlite.Reader, after int64, limit int) (found int, last int64, _ sqlite.WriteFunc, err error) {
	var statements []sqlite.Statement
	err = sqlite.Each(reader, uncountedEventsSQL, func(rows *sql.Rows) error {
		var hour, kind string
		var n int
		var row int64
		err := rows.Scan(&hour, &kind, &n, &row)
		found, last = found+n, max(last, row)
		statements = append(statements, sqlite.Statement{Text: eventsSQL, Args: []any{hour, kind, n}})
		return err
	}, after, limit)
	return found, last, func(sqlite.Reader) ([]sqlite.Statement, error) { return statements, nil }, err
}

const eventHoursSQL = "SELECT `hour`, `type`, `events` FROM `_eventHours` WHERE `hour` >= ?"

// OfEvents returns the number of events of each kind, in each step of the span.
func OfEvents(app core.App, span Span) ([]map[string]int64, error) {
	steps := make([]map[string]int64, span.Steps)
	for i := range steps {
		steps[i] = map[string]int64{}
	}
	err := read(app, eventHoursSQL, func(rows *sql.Rows) error {
		var hour, kind string
		var n int64
		if err := rows.Scan(&hour, &kind, &n); err != nil {
			return err
		}
		if step, within := span.stepOf(hour); within {
			steps[step][kind] += n
		}
		return nil
	}, hourOf(span.Start))
	if err != nil {
		return nil, fmt.Errorf("reading events by hour: %w", err)
	}
	return steps, nil
}
