package activity

import (
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/sqlite"
)

// Attempts is how many attempts there were to deliver an event, by result, and how long the receivers took to answer.
type Attempts struct {
	Delivered int64
	Retried   int64 // failed, with another one to come
	Failed    int64 // the last of their deliveries
	Answers   Answers
}

// Total returns how many attempts there were.
func (a *Attempts) Total() int64 { return a.Delivered + a.Retried + a.Failed }

// Failing reports whether more of them failed than succeeded.
func (a *Attempts) Failing() bool { return a.Delivered < a.Retried+a.Failed }

// Merge adds others.
func (a *Attempts) Merge(others Attempts) {
	a.Delivered += others.Delivered
	a.Retried += others.Retried
	a.Failed += others.Failed
	a.Answers.merge(others.Answers)
}

// attempts are counted by grain and webhook. Their ids are in the order of time.
var attempts = source{
	table: "delivery_attempts",
	rowSQL: "SELECT coalesce((SELECT rowid FROM `delivery_attempts` WHERE `id` = ?1), " +
		"(SELECT rowid FROM `delivery_attempts` WHERE `id` < ?1 ORDER BY `id` DESC LIMIT 1), 0)",
	lastSQL: "SELECT `id`, `started` FROM `delivery_attempts` WHERE rowid <= ? ORDER BY rowid DESC LIMIT 1",
	gather:  gatherAttempts,
	most:    1_000,
}

const (
	// attemptedSQL tells what became of attempts: those that failed are the last where the delivery has failed with as many. The
	// webhook is NULL where the delivery is gone.
	attemptedSQL = "SELECT a.`row`, d.`webhook`, substr(a.`started`, 1, 16), a.`durationMs`, a.`status` != 0, " +
		"a.`error` = '' AND a.`status` BETWEEN 200 AND 299, d.`status` = 'failed' AND d.`attempts` = a.`number` " +
		"FROM (SELECT rowid AS `row`, `delivery`, `number`, `started`, `durationMs`, `status`, `error` FROM `delivery_attempts` WHERE rowid > ? ORDER BY rowid LIMIT ?) a " +
		"LEFT JOIN `deliveries` d ON d.`id` = a.`delivery`"
	answersSQL  = "SELECT `hour`, `webhook`, `answers` FROM `_webhookHours` WHERE (`hour`, `webhook`) IN (SELECT value ->> 0, value ->> 1 FROM json_each(?))"
	attemptsSQL = "INSERT INTO `_webhookHours` (`hour`, `webhook`, `delivered`, `retried`, `failed`, `answers`) VALUES (?, ?, ?, ?, ?, ?) " +
		"ON CONFLICT DO UPDATE SET `delivered` = `delivered` + excluded.`delivered`, `retried` = `retried` + excluded.`retried`, " +
		"`failed` = `failed` + excluded.`failed`, `answers` = excluded.`answers`"
)

// webhookRow is the start of a row, as it is stored, and a webhook.
type webhookRow [2]string

// attemptCounts is what is counted of each row of a grain.
type attemptCounts map[*grain]map[webhookRow]*Attempts

func gatherAttempts(reader sqlite.Reader, behind int64, limit int) (found int, last int64, _ plan, err error) {
	counts := attemptCounts{byHour: {}, byMinute: {}}
	err = sqlite.Each(reader, attemptedSQL, func(rows *sql.Rows) error {
		var minute string
		var webhook sql.NullString
		var ms int64
		var answered, delivered bool
		var failed sql.NullBool
		if err := rows.Scan(&last, &webhook, &minute, &ms, &answered, &delivered, &failed); err != nil {
			return err
		}
		found++
		if !webhook.Valid {
			return nil
		}
		for g, rows := range counts {
			of := webhookRow{g.in(minute), webhook.String}
			if rows[of] == nil {
				rows[of] = &Attempts{}
			}
			rows[of].add(delivered, failed.Bool)
			if answered {
				rows[of].Answers.add(time.Duration(ms) * time.Millisecond)
			}
		}
		return nil
	}, behind, limit)
	return found, last, func(tx sqlite.Reader) ([]sqlite.Statement, error) { return planAttempts(tx, counts) }, err
}

func (a *Attempts) add(delivered, failed bool) {
	switch {
	case delivered:
		a.Delivered++
	case failed:
		a.Failed++
	default:
		a.Retried++
	}
}

// planAttempts returns the statements that add the counts to what is stored.
func planAttempts(tx sqlite.Reader, counts attemptCounts) (all []sqlite.Statement, err error) {
	for g, rows := range counts {
		statements, err := planRows(tx, g, rows)
		if err != nil {
			return nil, err
		}
		all = append(all, statements...)
	}
	return all, nil
}

func planRows(tx sqlite.Reader, g *grain, counts map[webhookRow]*Attempts) ([]sqlite.Statement, error) {
	answers := map[webhookRow]Answers{}
	err := sqlite.Each(tx, g.sql(answersSQL), func(rows *sql.Rows) (err error) {
		var of webhookRow
		var text string
		if err := rows.Scan(&of[0], &of[1], &text); err != nil {
			return err
		}
		answers[of], err = parseAnswers(text)
		return err
	}, encode(slices.Collect(maps.Keys(counts))))
	if err != nil {
		return nil, fmt.Errorf("reading how long answers took: %w", err)
	}
	var statements []sqlite.Statement
	for of, c := range counts {
		all := answers[of]
		all.merge(c.Answers)
		statements = append(statements, sqlite.Statement{Text: g.sql(attemptsSQL), Args: []any{of[0], of[1], c.Delivered, c.Retried, c.Failed, encode(all)}})
	}
	return statements, nil
}

const (
	webhookSQL = "SELECT `hour`, `delivered`, `retried`, `failed`, `answers` FROM `_webhookHours` " +
		"WHERE `hour` IN (SELECT value FROM json_each(?)) AND `webhook` = ?"
	allWebhooksSQL = "SELECT `hour`, sum(`delivered`), sum(`retried`), sum(`failed`), '[]' FROM `_webhookHours` WHERE `hour` >= ? GROUP BY `hour`"
)

// OfWebhook returns the attempts to deliver to a webhook, in each step of the span.
func OfWebhook(app core.App, webhook string, span Span) ([]Attempts, error) {
	return readAttempts(app, span, webhookSQL, span.starts(), webhook)
}

// OfWebhooks returns the attempts to deliver to all webhooks, in each step of the span, without how long answers took.
func OfWebhooks(app core.App, span Span) ([]Attempts, error) {
	return readAttempts(app, span, allWebhooksSQL, span.first())
}

func readAttempts(app core.App, span Span, query string, args ...any) ([]Attempts, error) {
	steps := make([]Attempts, span.Steps)
	err := read(app, span.grain().sql(query), func(rows *sql.Rows) error {
		var start, answers string
		var a Attempts
		if err := rows.Scan(&start, &a.Delivered, &a.Retried, &a.Failed, &answers); err != nil {
			return err
		}
		var err error
		if a.Answers, err = parseAnswers(answers); err != nil {
			return err
		}
		if step, within := span.stepOf(start); within {
			steps[step].Merge(a)
		}
		return nil
	}, args...)
	if err != nil {
		return nil, fmt.Errorf("reading the attempts of a span: %w", err)
	}
	return steps, nil
}

// Trouble is a webhook to which not everything is delivered.
type Trouble struct {
	Webhook string
	Hour    time.Time // the last one with attempts
	Last    Attempts  // of that hour, without how long answers took
	Failed  int64     // attempts since the given time that were the last of their deliveries
}

// troubledSQL takes the columns beside max() from the row that has the last hour.
const troubledSQL = "SELECT h.* FROM (SELECT `webhook`, max(`hour`), `delivered`, `retried`, `failed`, sum(`failed`) AS `lost` " +
	"FROM `_webhookHours` WHERE `hour` >= ? GROUP BY `webhook` HAVING `delivered` < `retried` + `failed` OR sum(`failed`) > 0) h " +
	"JOIN `webhooks` w ON w.`id` = h.`webhook` AND w.`disabled` = 0 ORDER BY h.`delivered` < h.`retried` + h.`failed` DESC, h.`lost` DESC, h.`retried` DESC LIMIT ?"

// Troubled returns up to limit of the webhooks that are not disabled: first those that were failing in their last hour with attempts,
// then those of which attempts failed for good since that time.
func Troubled(app core.App, since time.Time, limit int) (all []Trouble, err error) {
	err = read(app, troubledSQL, func(rows *sql.Rows) error {
		var t Trouble
		var hour string
		if err := rows.Scan(&t.Webhook, &hour, &t.Last.Delivered, &t.Last.Retried, &t.Last.Failed, &t.Failed); err != nil {
			return err
		}
		t.Hour, err = time.Parse(byHour.layout, hour)
		all = append(all, t)
		return err
	}, byHour.of(since), limit)
	if err != nil {
		return nil, fmt.Errorf("looking for webhooks that fail: %w", err)
	}
	return all, nil
}
