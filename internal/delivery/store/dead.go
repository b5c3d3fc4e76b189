package store

import (
	"database/sql"
	"fmt"
	"time"

	"contactbase/internal/audit"
	"contactbase/internal/delivery"
	"contactbase/internal/notice"
	"contactbase/internal/sqlite"
	"contactbase/internal/stamp"
)

// deadInterval is how often a failing webhook is checked.
const deadInterval = 10 * time.Minute

var (
	deadDays = delivery.DefaultPolicy().DeadDays()

	// deadAfter is how long all attempts must fail before a webhook is disabled.
	deadAfter = time.Duration(deadDays) * 24 * time.Hour
)

// disableSQL disables the webhook ?1 for the reason ?2 at ?3.
const disableSQL = `UPDATE webhooks SET disabled = 1, disabledReason = ?2, updated = ?3 WHERE id = ?1 AND disabled = 0`

// logDisabled logs which webhooks stored results have disabled.
func (s *Store) logDisabled(results ...delivery.Result) {
	for _, result := range results {
		if reason := result.Decision.Disable; reason != "" {
			s.app.Logger().Warn("disabled a webhook", "webhook", result.Job.Endpoint.WebhookID, "reason", reason)
		}
	}
}

// disabling returns the statements that disable a webhook, and write its notice and its entry in the audit log.
func disabling(tx sqlite.Reader, webhook, reason string, now time.Time) ([]sqlite.Statement, error) {
	written, err := notice.Disabled(tx, webhook, reason, now)
	return append(written, audit.Disabling(webhook, reason, now),
		statement(disableSQL, webhook, reason, stamp.Stored(now))), err
}

// failingSQL reports whether the webhook ?1 was failing at ?2: it has not been changed since, and one of the last
// deliveries created before then had been attempted and is not delivered.
const failingSQL = `SELECT 1 FROM webhooks w WHERE w.id = ?1 AND w.updated <= ?2 AND EXISTS (
	SELECT 1 FROM (
		SELECT id, status, attempts FROM deliveries WHERE webhook = ?1 AND created <= ?2 ORDER BY created DESC LIMIT 1000
	) newest CROSS JOIN delivery_attempts a ON a.delivery = newest.id AND a.number = 1
	WHERE newest.status != 'delivered' AND newest.attempts > 0 AND a.started <= ?2)`

// lastSuccessSQL returns when one of the newest deliveries to the webhook ?1 succeeded; NULL if none did.
const lastSuccessSQL = `SELECT max(updated) FROM (
	SELECT updated FROM deliveries WHERE webhook = ?1 AND status = 'delivered' ORDER BY created DESC LIMIT 100)`

// successes caches the last successes of webhooks, so that failures need not query them.
type successes struct {
	last   map[string]time.Time // when each last accepted a delivery
	looked map[string]time.Time // when each was last checked
}

// disableDead disables the webhooks of failed results if all their attempts have failed for deadAfter. It only logs an
// error: the results are stored, and the webhook is checked again later.
func (s *Store) disableDead(results []delivery.Result, now time.Time) {
	for _, webhook := range s.suspects(results, now) {
		dead, err := s.dead(webhook, now)
		if err == nil && dead {
			reason := fmt.Sprintf("Every attempt of %d days failed.", deadDays)
			if err = s.disable(webhook, reason, now); err == nil {
				s.app.Logger().Warn("disabled a webhook", "webhook", webhook, "reason", reason)
			}
		}
		if err != nil {
			s.app.Logger().Error("checking whether a webhook has failed for too long", "webhook", webhook, "error", err)
		}
	}
}

func (s *Store) disable(webhook, reason string, now time.Time) error {
	_, err := sqlite.Write(s.app, func(tx sqlite.Reader) ([]sqlite.Statement, error) {
		return disabling(tx, webhook, reason, now)
	})
	return err
}

// suspects records the successes among the results and returns the failing webhooks to check.
func (s *Store) suspects(results []delivery.Result, now time.Time) []string {
	for _, result := range results {
		if result.Decision.Status == delivery.StatusDelivered {
			s.successes.last[result.Job.Endpoint.WebhookID] = now
		}
	}
	var webhooks []string
	for _, result := range results {
		webhook := result.Job.Endpoint.WebhookID
		known := s.successes.last[webhook].After(now.Add(-deadAfter))
		if known || now.Sub(s.successes.looked[webhook]) < deadInterval {
			continue
		}
		s.successes.looked[webhook] = now
		webhooks = append(webhooks, webhook)
	}
	return webhooks
}

// dead queries the deliveries. Those that waited for the webhook or the tenant to be enabled again did not fail, so an
// endpoint is dead only with a failed attempt at least that long ago and no success since. It looks for the failure
// first, because finding a success among many failures is slow.
func (s *Store) dead(webhook string, now time.Time) (bool, error) {
	since := now.Add(-deadAfter)
	failing := false
	err := s.read(failingSQL, func(*sql.Rows) error {
		failing = true
		return nil
	}, webhook, stamp.Stored(since))
	if err != nil || !failing {
		return false, err
	}
	var success sql.NullString
	err = s.read(lastSuccessSQL, func(rows *sql.Rows) error { return rows.Scan(&success) }, webhook)
	if err != nil {
		return false, err
	}
	last := stamp.Parse(success.String)
	if !last.After(since) {
		return true, nil
	}
	s.successes.last[webhook] = last
	return false, nil
}
