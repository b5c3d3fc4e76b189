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
	Delivered     int64         `json:"delivered"`
	Retried       int64         `json:"retried"` // failed and followed by another attempt
	Failed        int64         `json:"failed"`  // failed and the last of their deliveries
	ResponseTimes ResponseTimes `json:"-"`
	Streak        int64         `json:"-"` // how many have failed since the last success; only of OfEachWebhook
}

// Total returns the number of attempts.
func (a *Attempts) Total() int64 { return a.Delivered + a.Retried + a.Failed }

// Merge adds the counts of later attempts.
func (a *Attempts) Merge(others Attempts) {
	if others.Delivered > 0 {
		a.Streak = 0
	}
	a.Streak += others.Streak
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
	uncountedAttemptsSQL = "SELECT a.`row`, d.`webhook`, a.`started`, a.`durationMs`, a.`status`, a.`error`, " +
		"a.`error` = '' AND a.`status` BETWEEN 200 AND 299, d.`status` = 'failed' AND d.`attempts` = a.`number` " +
		"FROM (SELECT rowid AS `row`, `delivery`, `number`, `started`, `durationMs`, `status`, `error` " +
		"FROM `delivery_attempts` WHERE rowid > ? ORDER BY rowid LIMIT ?) a " +
		"LEFT JOIN `deliveries` d ON d.`id` = a.`delivery`"
	storedSQL = "SELECT `start`, `of`, `streak`, `answers` FROM `_activity` " +
		"WHERE `kind` = 'webhook' AND `grain` IN (60, 3600) AND (`start`, `of`) IN " +
		"(SELECT value ->> 0, value ->> 1 FROM json_each(?))"
)

// webhookRow is the stored start of a row and the id of a webhook.
type webhookRow [2]string

func gatherAttempts(reader sqlite.Reader, after int64, limit int) (*gathered, error) {
	attempts, ends := map[webhookRow]*Attempts{}, map[string]*outcomes{}
	var changes []change
	all := &gathered{
		store: func(tx sqlite.Reader) (statements []sqlite.Statement, err error) {
			if statements, changes, err = storeFailures(tx, ends); err != nil {
				return nil, err
			}
			counted, err := storeAttempts(tx, attempts)
			return append(statements, counted...), err
		},
		stored: func(app core.App) { logChanges(app, changes) },
	}
	err := sqlite.Each(reader, uncountedAttemptsSQL, func(rows *sql.Rows) error {
		var started, fault string
		var webhook sql.NullString
		var ms int64
		var status int
		var delivered bool
		var failed sql.NullBool
		if err := rows.Scan(&all.last, &webhook, &started, &ms, &status, &fault, &delivered, &failed); err != nil {
			return err
		}
		all.found++
		if !webhook.Valid {
			return nil
		}
		for _, g := range grains {
			of := webhookRow{g.in(started), webhook.String}
			if attempts[of] == nil {
				attempts[of] = &Attempts{}
			}
			attempts[of].add(delivered, failed.Bool)
			if status != 0 {
				attempts[of].ResponseTimes.add(time.Duration(ms) * time.Millisecond)
			}
		}
		if ends[webhook.String] == nil {
			ends[webhook.String] = &outcomes{}
		}
		ends[webhook.String].add(delivered, started, status, fault)
		return nil
	}, after, limit)
	return all, err
}

func (a *Attempts) add(delivered, failed bool) {
	switch {
	case delivered:
		a.Delivered++
		a.Streak = -1
	case failed:
		a.Failed++
	default:
		a.Retried++
	}
	a.Streak++
}

// storeAttempts returns the statements that add counts to the stored ones.
func storeAttempts(tx sqlite.Reader, attempts map[webhookRow]*Attempts) (statements []sqlite.Statement, _ error) {
	stored := map[webhookRow]Attempts{}
	err := sqlite.Each(tx, storedSQL, func(rows *sql.Rows) (err error) {
		var of webhookRow
		var a Attempts
		var text string
		if err := rows.Scan(&of[0], &of[1], &a.Streak, &text); err != nil {
			return err
		}
		a.ResponseTimes, err = parseResponseTimes(text)
		stored[of] = a
		return err
	}, sqlite.List(slices.Collect(maps.Keys(attempts))))
	if err != nil {
		return nil, fmt.Errorf("reading streaks and response times: %w", err)
	}
	for of, a := range attempts {
		all := stored[of]
		all.Merge(*a)
		statements = append(statements, add(ofWebhook, of[0], of[1], counts{
			done: a.Delivered, retried: a.Retried, failed: a.Failed, streak: all.Streak, responseTimes: all.ResponseTimes,
		}))
	}
	return statements, nil
}

// OfWebhook returns the attempts of a webhook in each step of the span.
func OfWebhook(app core.App, webhook string, span Span) ([]Attempts, error) {
	return span.attempts(app, oneSQL, webhook)
}

// OfWebhooks returns the attempts of a tenant's webhooks, or of all if the id is "", in each step of the span,
// without response times.
func OfWebhooks(app core.App, tenantID string, span Span) ([]Attempts, error) {
	if tenantID == "" {
		return span.attempts(app, allSQL, "")
	}
	return span.attempts(app, tenantWebhooksSQL, tenantID)
}

// attempts returns the attempts that a query of counts finds in each step of the span.
func (s Span) attempts(app core.App, query, of string) ([]Attempts, error) {
	steps := make([]Attempts, s.Steps)
	err := s.counts(app, query, ofWebhook, of, func(step int, c counts) {
		steps[step].Merge(Attempts{Delivered: c.done, Retried: c.retried, Failed: c.failed, ResponseTimes: c.responseTimes})
	})
	return steps, err
}

// eachWebhookSQL returns the attempts of the webhooks ?2 in the hours ?1, the oldest first. Rows from before streaks
// were counted have one only without a success.
const eachWebhookSQL = "SELECT `of`, `done`, `retried`, `failed`, iif(`done` = 0, `retried` + `failed`, `streak`) " +
	"FROM `_activity` WHERE `kind` = 'webhook' AND `grain` = 3600 AND `start` IN (SELECT value FROM json_each(?1)) " +
	"AND `of` IN (SELECT value FROM json_each(?2)) ORDER BY `start`"

// OfEachWebhook returns the attempts of each of the webhooks in the span of hours, without response times. Webhooks
// without attempts are missing.
func OfEachWebhook(app core.App, ids []string, span Span) (map[string]Attempts, error) {
	all := map[string]Attempts{}
	err := read(app, eachWebhookSQL, func(rows *sql.Rows) error {
		var id string
		var a Attempts
		if err := rows.Scan(&id, &a.Delivered, &a.Retried, &a.Failed, &a.Streak); err != nil {
			return err
		}
		sum := all[id]
		sum.Merge(a)
		all[id] = sum
		return nil
	}, span.starts(), sqlite.List(ids))
	if err != nil {
		return nil, fmt.Errorf("reading the attempts of webhooks: %w", err)
	}
	return all, nil
}

// lostSQL counts the deliveries of the webhooks ?2 that failed since the hour ?1 and have not been sent again, of each
// among its newest 10,000 failed ones. Pings do not count.
const lostSQL = "SELECT `id`, `lost` FROM (SELECT j.`value` AS `id`, (SELECT count(*) FROM (" +
	"SELECT d.`event`, d.`updated` FROM `deliveries` d WHERE d.`webhook` = j.`value` AND d.`status` = 'failed' " +
	"ORDER BY d.`created` DESC LIMIT 10000) f WHERE f.`updated` >= ?1 AND NOT EXISTS (" +
	"SELECT 1 FROM `events` e WHERE e.`id` = f.`event` AND e.`type` = 'webhook.ping')) AS `lost` " +
	"FROM json_each(?2) j) WHERE `lost` > 0"

// Lost returns how many deliveries of each of the webhooks failed since that time and have not been sent again, at most
// 10,000. Those without any are missing.
func Lost(app core.App, ids []string, since time.Time) (map[string]int64, error) {
	all := map[string]int64{}
	err := read(app, lostSQL, func(rows *sql.Rows) error {
		var id string
		var lost int64
		err := rows.Scan(&id, &lost)
		all[id] = lost
		return err
	}, byHour.of(since), sqlite.List(ids))
	if err != nil {
		return nil, fmt.Errorf("looking for webhooks with failed deliveries: %w", err)
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
