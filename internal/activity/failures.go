package activity

import (
	"cmp"
	"database/sql"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/sqlite"
)

const (
	// FailingStreak is how many attempts in a row must fail before a webhook is failing.
	FailingStreak = 10

	maxReason = 200 // characters
)

// Failure is what the attempts of a webhook since its last success have in common: all of them failed.
type Failure struct {
	Since    string // stored time of the first of them
	Attempts int64
	Reason   string // of the last of them, "" if unknown
}

// outcomes are the attempts of a webhook that are counted together.
type outcomes struct {
	succeeded bool
	Failure   // since the last success among them
}

func (o *outcomes) add(delivered bool, started string, status int, fault string) {
	if delivered {
		*o = outcomes{succeeded: true}
		return
	}
	o.Since = cmp.Or(o.Since, started)
	o.Attempts++
	o.Reason = reasonOf(status, fault)
}

// reasonOf returns why an attempt failed, in a line of limited length.
func reasonOf(status int, fault string) string {
	if fault == "" {
		fault = strings.TrimSpace(fmt.Sprint(status, " ", http.StatusText(status)))
	}
	runes := []rune(strings.Join(strings.Fields(fault), " "))
	if len(runes) > maxReason {
		return string(runes[:maxReason-1]) + "…"
	}
	return string(runes)
}

// change is what the log says about a webhook: that it began to fail, or that it accepts deliveries again.
type change struct {
	webhook, tenant, name string
	recovered             bool
	Failure
}

const (
	failuresSQL = "SELECT w.`id`, w.`tenant`, w.`name`, " +
		"coalesce(f.`since`, ''), coalesce(f.`attempts`, 0), coalesce(f.`error`, '') " +
		"FROM json_each(?1) j CROSS JOIN `webhooks` w ON w.`id` = j.`value` " +
		"LEFT JOIN `_failingWebhooks` f ON f.`webhook` = w.`id`"
	failSQL = "INSERT OR REPLACE INTO `_failingWebhooks` (`webhook`, `since`, `attempts`, `error`) " +
		"VALUES (:webhook, :since, :attempts, :error)"
	recoverSQL = "DELETE FROM `_failingWebhooks` WHERE `webhook` = ?"
)

// storeFailures returns the statements that store which webhooks fail after the outcomes, and what the log says of it.
func storeFailures(
	tx sqlite.Reader, all map[string]*outcomes,
) (statements []sqlite.Statement, changes []change, _ error) {
	err := sqlite.Each(tx, failuresSQL, func(rows *sql.Rows) error {
		var c change
		var before Failure
		if err := rows.Scan(&c.webhook, &c.tenant, &c.name, &before.Since, &before.Attempts, &before.Reason); err != nil {
			return err
		}
		now := all[c.webhook]
		failed := before.Attempts >= FailingStreak
		if now.succeeded && before.Attempts > 0 {
			statements = append(statements, sqlite.Statement{Text: recoverSQL, Args: []any{c.webhook}})
			if c.Failure = before; failed {
				c.recovered = true
				changes = append(changes, c)
			}
			before, failed = Failure{}, false
		}
		if now.Attempts == 0 {
			return nil
		}
		c.recovered = false
		c.Failure = Failure{cmp.Or(before.Since, now.Since), before.Attempts + now.Attempts, now.Reason}
		statements = append(statements, sqlite.Statement{Text: failSQL, Args: sqlite.Named(map[string]any{
			"webhook": c.webhook, "since": c.Since, "attempts": c.Attempts, "error": c.Reason,
		})})
		if !failed && c.Attempts >= FailingStreak {
			changes = append(changes, c)
		}
		return nil
	}, sqlite.List(slices.Collect(maps.Keys(all))))
	if err != nil {
		return nil, nil, fmt.Errorf("reading which webhooks fail: %w", err)
	}
	return statements, changes, nil
}

func logChanges(app core.App, changes []change) {
	for _, c := range changes {
		log, says := app.Logger().Warn, "a webhook is failing"
		if c.recovered {
			log, says = app.Logger().Info, "a webhook works again"
		}
		log(says, "tenant", c.tenant, "webhook", c.webhook, "name", c.name,
			"since", c.Since, "attempts", c.Attempts, "reason", c.Reason)
	}
}

const failingSQL = "SELECT `webhook`, `since`, `attempts`, `error` FROM `_failingWebhooks` " +
	"WHERE `webhook` IN (SELECT value FROM json_each(?))"

// Failures returns the failures of those of the webhooks whose last attempt failed.
func Failures(app core.App, ids []string) (map[string]Failure, error) {
	all := map[string]Failure{}
	err := read(app, failingSQL, func(rows *sql.Rows) error {
		var id string
		var f Failure
		err := rows.Scan(&id, &f.Since, &f.Attempts, &f.Reason)
		all[id] = f
		return err
	}, sqlite.List(ids))
	if err != nil {
		return nil, fmt.Errorf("reading which webhooks fail: %w", err)
	}
	return all, nil
}
