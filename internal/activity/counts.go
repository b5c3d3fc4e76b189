package activity

import (
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/sqlite"
)

// The kinds of rows in the table _activity.
const (
	ofWebhook = "webhook"
	ofEvent   = "event"
	ofKey     = "key"
	ofInbound = "inbound"
)

// counts are the counts of a row. Each kind uses some of them.
type counts struct {
	done, retried, refused, limited, failed int64
	streak                                  int64 // of failures since the last success
	responseTimes                           ResponseTimes
}

const addSQL = "INSERT INTO `_activity` (`kind`, `grain`, `start`, " +
	"`of`, `done`, `retried`, `refused`, `limited`, `failed`, `streak`, `answers`) " +
	"VALUES (:kind, :grain, :start, :of, :done, :retried, :refused, :limited, :failed, :streak, :answers) " +
	"ON CONFLICT DO UPDATE " +
	"SET `done` = `done` + excluded.`done`, `retried` = `retried` + excluded.`retried`, " +
	"`refused` = `refused` + excluded.`refused`, `limited` = `limited` + excluded.`limited`, " +
	"`failed` = `failed` + excluded.`failed`, `streak` = excluded.`streak`, `answers` = excluded.`answers`"

// add returns the statement that adds counts to a row. The streak and the response times replace those of the row.
func add(kind, start, of string, c counts) sqlite.Statement {
	g := byMinute
	if len(start) == len(byHour.layout) {
		g = byHour
	}
	return sqlite.Statement{Text: addSQL, Args: sqlite.Named(map[string]any{
		"kind": kind, "grain": g.seconds(), "start": start, "of": of, "done": c.done, "retried": c.retried,
		"refused": c.refused, "limited": c.limited, "failed": c.failed, "streak": c.streak,
		"answers": sqlite.List(c.responseTimes),
	})}
}

// The counts of a kind and a grain in rows by their starts: those of one webhook or key, and the sums of a tenant's and
// of all. :of is the id of the webhook, the key or the tenant, "" for all.
const (
	ofRows = " FROM `_activity` WHERE `kind` = :kind AND `grain` = :grain AND " +
		"`start` IN (SELECT value FROM json_each(:starts)) AND "
	sumsSQL = "SELECT `start`, sum(`done`), sum(`retried`), sum(`refused`), sum(`limited`), sum(`failed`), '[]'" + ofRows

	oneSQL = "SELECT `start`, `done`, `retried`, `refused`, `limited`, `failed`, `answers`" +
		ofRows + "`of` = :of"
	tenantWebhooksSQL = sumsSQL + "`of` IN (SELECT `id` FROM `webhooks` WHERE `tenant` = :of) GROUP BY `start`"
	tenantKeysSQL     = sumsSQL + "`of` IN (SELECT `id` FROM `api_keys` WHERE `tenant` = :of) GROUP BY `start`"
	allSQL            = sumsSQL + ":of = '' GROUP BY `start`"
)

// counts calls add with the counts that one of these queries finds in the span.
func (s Span) counts(app core.App, query, kind, of string, add func(step int, c counts)) error {
	var c counts
	var answers string
	targets := []any{&c.done, &c.retried, &c.refused, &c.limited, &c.failed, &answers}
	args := sqlite.Named(map[string]any{"kind": kind, "grain": s.grain().seconds(), "starts": s.starts(), "of": of})
	return s.read(app, query, args, targets, func(step int) (err error) {
		c.responseTimes, err = parseResponseTimes(answers)
		add(step, c)
		return err
	})
}
