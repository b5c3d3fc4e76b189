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

// Attempts counts delivery attempts by result, and has the response times of the receivers.
type Attempts struct {
	Delivered     int64
	Retried       int64 // failed and followed by another attempt
	Failed        int64 // failed and the last of their deliveries
	ResponseTimes ResponseTimes
}

// Total returns the number of attempts.
func (a *Attempts) Total() int64 { return a.Delivered + a.Retried + a.Failed }

// Failing reports whether more attempts failed than succeeded.
func (a *Attempts) Failing() bool { return a.Delivered < a.Retried+a.Failed }

// Merge adds the counts of others.
func (a *Attempts) Merge(others Attempts) {
	a.Delivered += others.Delivered
	a.Retried += others.Retried
	a.Failed += others.Failed
	a.ResponseTimes.merge(others.ResponseTimes)
}

// attempts are counted by hour, minute and webhook. Their ids sort by time.
var attempts = source{
	table: "delivery_attempts",
	rowSQL: "SELECT coalesce((SELECT rowid FROM `delivery_attempts` WHERE `id` = ?1), " +
		"(SELECT rowid FROM `delivery_attempts` WHERE `id` < ?1 ORDER BY `id` DESC LIMIT 1), 0)",
	lastSQL: "SELECT `id`, `started` FROM `delivery_attempts` WHERE rowid <= ? ORDER BY rowid DESC LIMIT 1",
	gather:  gatherAttempts,
	limit:   1_000,
}

const (
	// uncountedAttemptsSQL returns attempts and their results. An attempt is the last one of a delivery that failed
	// with that number of attempts. The webhook is NULL if the delivery has been deleted.
	uncountedAttemptsSQL = "SELECT a.`row`, d.`webhook`, substr(a.`started`, 1, 16), a.`durationMs`, a.`status` != 0, " +
		"a.`error` = '' AND a.`status` BETWEEN 200 AND 299, d.`status` = 'failed' AND d.`attempts` = a.`number` " +
		"FROM (SELECT rowid AS `row`, `delivery`, `number`, `started`, `durationMs`, `status`, `error` " +
		"FROM `delivery_attempts` WHERE rowid > ? ORDER BY rowid LIMIT ?) a " +
		"LEFT JOIN `deliveries` d ON d.`id` = a.`delivery`"
	answersSQL = "SELECT `start`, `of`, `answers` FROM `_activity` " +
		"WHERE `kind` = 'webhook' AND `grain` IN (60, 3600) AND (`start`, `of`) IN " +
		"(SELECT value ->> 0, value ->> 1 FROM json_each(?))"
)

// webhookRow is the stored start of a row and the id of a webhook.
type webhookRow [2]string

func gatherAttempts(
	reader sqlite.Reader, after int64, limit int,
) (found int, last int64, _ sqlite.WriteFunc, err error) {
	attempts := map[webhookRow]*Attempts{}
	err = sqlite.Each(reader, uncountedAttemptsSQL, func(rows *sql.Rows) error {
		var minute string
		var webhook sql.NullString
		var ms int64
		var responded, delivered bool
		var failed sql.NullBool
		if err := rows.Scan(&last, &webhook, &minute, &ms, &responded, &delivered, &failed); err != nil {
			return err
		}
		found++
		if !webhook.Valid {
			return nil
		}
		for _, g := range grains {
			of := webhookRow{g.in(minute), webhook.String}
			if attempts[of] == nil {
				attempts[of] = &Attempts{}
			}
			attempts[of].add(delivered, failed.Bool)
			if responded {
				attempts[of].ResponseTimes.add(time.Duration(ms) * time.Millisecond)
			}
		}
		return nil
	}, after, limit)
	return found, last, func(tx sqlite.Reader) ([]sqlite.Statement, error) { return storeAttempts(tx, attempts) }, err
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

// storeAttempts returns the statements that add counts to the stored ones.
func storeAttempts(tx sqlite.Reader, attempts map[webhookRow]*Attempts) (statements []sqlite.Statement, _ error) {
	answers := map[webhookRow]ResponseTimes{}
	err := sqlite.Each(tx, answersSQL, func(rows *sql.Rows) (err error) {
		var of webhookRow
		var text string
		if err := rows.Scan(&of[0], &of[1], &text); err != nil {
			return err
		}
		answers[of], err = parseResponseTimes(text)
		return err
	}, sqlite.List(slices.Collect(maps.Keys(attempts))))
	if err != nil {
		return nil, fmt.Errorf("reading response times: %w", err)
	}
	for of, a := range attempts {
		all := answers[of]
		all.merge(a.ResponseTimes)
		statements = append(statements, add(ofWebhook, of[0], of[1],
			counts{done: a.Delivered, retried: a.Retried, failed: a.Failed, responseTimes: all}))
	}
	return statements, nil
}

// OfWebhook returns the attempts of a webhook in each step of the span.
func OfWebhook(app core.App, webhook string, span Span) ([]Attempts, error) {
	steps := make([]Attempts, span.Steps)
	err := span.counts(app, oneSQL, ofWebhook, webhook, func(step int, c counts) { steps[step].Merge(attemptsOf(c)) })
	return steps, err
}

// OfWebhooks returns the attempts of a tenant's webhooks, or of all if the id is "", in each step of the span,
// without response times.
func OfWebhooks(app core.App, tenantID string, span Span) ([]Attempts, error) {
	steps, query := make([]Attempts, span.Steps), allSQL
	if tenantID != "" {
		query = tenantWebhooksSQL
	}
	err := span.counts(app, query, ofWebhook, tenantID, func(step int, c counts) { steps[step].Merge(attemptsOf(c)) })
	return steps, err
}

func attemptsOf(c counts) Attempts { return Attempts{c.done, c.retried, c.failed, c.responseTimes} }

// FailingWebhook is a webhook that is failing or has failed deliveries.
type FailingWebhook struct {
	ID      string
	Hour    time.Time // the last one with attempts
	Last    Attempts  // in that hour, without response times
	Failed  int64     // deliveries that failed since the given time and have not been sent again, at most 10,000
	Failing bool      // see Failing
}

const (
	// lostSQL counts the deliveries of the webhook w that failed since the hour ?1, among the newest 10,000.
	// Pings do not count.
	lostSQL = "(SELECT count(*) FROM (SELECT d.`event`, d.`updated` " +
		"FROM `deliveries` d WHERE d.`webhook` = w.`id` AND d.`status` = 'failed' " +
		"ORDER BY d.`created` DESC LIMIT 10000) f WHERE f.`updated` >= ?1 AND NOT EXISTS (" +
		"SELECT 1 FROM `events` e WHERE e.`id` = f.`event` AND e.`type` = 'webhook.ping'))"
	// waitsSQL reports whether a delivery of the webhook w waits for a retry.
	waitsSQL = "EXISTS (SELECT 1 FROM `deliveries` d " +
		"WHERE d.`webhook` = w.`id` AND d.`status` = 'pending' AND d.`attempts` > 0)"

	// failingSQL takes the columns beside max() from the row of the last hour, as SQLite guarantees.
	failingSQL = "SELECT `webhook`, `lastHour`, `done`, `retried`, `failed`, `lost`, `done` < `retried` + `failed` " +
		"AND (`done` = 0 OR `waits` OR `lost` > 0) AS `failing` FROM (SELECT h.*, " +
		lostSQL + " AS `lost`, " + waitsSQL +
		" AS `waits` FROM (SELECT `of` AS `webhook`, max(`start`) AS `lastHour`, `done`, `retried`, `failed` " +
		"FROM `_activity` WHERE `kind` = 'webhook' AND `grain` = 3600 AND `start` >= ?1 " +
		"AND (?2 = '' OR `of` IN (SELECT `id` FROM `webhooks` WHERE `tenant` = ?2)) " +
		"GROUP BY `of` HAVING `done` < `retried` + `failed` OR sum(`failed`) > 0) h " +
		"JOIN `webhooks` w ON w.`id` = h.`webhook` AND w.`disabled` = 0) " +
		"WHERE `failing` OR `lost` > 0 ORDER BY `failing` DESC, `lost` DESC, `retried` DESC LIMIT ?3"
	openSQL = "SELECT " + waitsSQL + " OR " + lostSQL + " > 0 FROM `webhooks` w WHERE w.`id` = ?2"
)

// Failing reports whether a webhook is failing: most attempts of its last hour failed, and either it accepted nothing
// in that hour, or a delivery still waits for a retry or has failed since that time.
func Failing(app core.App, webhook string, last Attempts, since time.Time) (failing bool, err error) {
	if !last.Failing() || last.Delivered == 0 {
		return last.Failing(), nil
	}
	err = read(app, openSQL, func(rows *sql.Rows) error { return rows.Scan(&failing) }, byHour.of(since), webhook)
	if err != nil {
		return false, fmt.Errorf("looking for what the webhook %s has not accepted: %w", webhook, err)
	}
	return failing, nil
}

// FailingWebhooks returns up to limit enabled webhooks of a tenant, or of all if the id is "": first those that are
// failing, and then those with failed deliveries since that time.
func FailingWebhooks(app core.App, tenantID string, since time.Time, limit int) (all []FailingWebhook, err error) {
	err = read(app, failingSQL, func(rows *sql.Rows) error {
		var w FailingWebhook
		var hour string
		if err := rows.Scan(
			&w.ID, &hour, &w.Last.Delivered, &w.Last.Retried, &w.Last.Failed, &w.Failed, &w.Failing,
		); err != nil {
			return err
		}
		w.Hour, err = time.Parse(byHour.layout, hour)
		all = append(all, w)
		return err
	}, byHour.of(since), tenantID, limit)
	if err != nil {
		return nil, fmt.Errorf("looking for failing webhooks: %w", err)
	}
	return all, nil
}

// lastDeliveredSQL returns the start of the last of the rows of the grain ?1 in ?2 in which the webhook ?3
// accepted a delivery.
const lastDeliveredSQL = "SELECT coalesce(max(`start`), '') FROM `_activity` " +
	"WHERE `kind` = 'webhook' AND `grain` = ?1 AND `start` IN " +
	"(SELECT value FROM json_each(?2)) AND `of` = ?3 AND `done` > 0"

// LastDelivered returns the start of the minute in which the webhook last accepted a delivery, or of the hour if that
// is longer ago than MinutesKept; zero if it accepted none in 4 days.
func LastDelivered(app core.App, webhook string, now time.Time) (time.Time, error) {
	const hours = 96
	for _, span := range []Span{
		{now.UTC().Truncate(time.Minute).Add(-MinutesKept), time.Minute, int(MinutesKept/time.Minute) + 1},
		{now.UTC().Truncate(time.Hour).Add((1 - hours) * time.Hour), time.Hour, hours},
	} {
		g := span.grain()
		start, err := sqlite.Value[string](sqlite.Direct(app.ConcurrentDB()),
			lastDeliveredSQL, g.seconds(), span.starts(), webhook)
		if err != nil {
			return time.Time{}, fmt.Errorf("looking for the last success of the webhook %s: %w", webhook, err)
		}
		if start != "" {
			return time.Parse(g.layout, start)
		}
	}
	return time.Time{}, nil
}
