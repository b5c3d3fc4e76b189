package notice

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"contactbase/internal/activity"
	"contactbase/internal/credential"
	"contactbase/internal/event"
	"contactbase/internal/sqlite"
	"contactbase/internal/stamp"
	"contactbase/internal/tenant"
)

const (
	// failingFor and failingAttempts are how long and how often every attempt must fail before a webhook
	// counts as failing.
	failingFor      = time.Hour
	failingAttempts = 10

	// The tenant gets a notice of a key this long before it expires. If both times have passed, it gets only
	// the second notice.
	weeksBefore = 14 * 24 * time.Hour
	dayBefore   = 24 * time.Hour

	// quiet is the shortest time between two notices of the same check.
	quiet = time.Hour
)

// open is the condition that the tenant t may get notices.
var open = "t.`apiEnabled` = 1 AND " + tenant.WritableSQL("t.`id`")

// find writes the notices of changes that happen outside our transactions, and returns them. If one search fails, it
// still runs the others.
func (s *Service) find(ctx context.Context, now time.Time) (found []Notice, failed error) {
	for _, search := range []func(context.Context, time.Time) ([]Notice, error){
		s.failing, s.recovered, s.expiring, s.checked,
	} {
		notices, err := search(ctx, now)
		failed = errors.Join(failed, err)
		for _, n := range notices {
			if err := s.write(n, now); err != nil {
				failed = errors.Join(failed, fmt.Errorf("writing the notice %s of %q: %w", n.Kind, n.Subject, err))
				continue
			}
			found = append(found, n)
		}
	}
	return found, failed
}

// endSQL ends the lasting notices of the kind ?2 and the subject ?3.
const endSQL = "UPDATE `_notices` SET `ended` = ?1 WHERE `kind` = ?2 AND `subject` = ?3 AND `ended` = ''"

func (s *Service) write(n Notice, now time.Time) error {
	_, err := sqlite.Write(s.app, func(tx sqlite.Reader) ([]sqlite.Statement, error) {
		statements, err := Insert(tx, n, now)
		if n.Kind == event.WebhookRecovered {
			statements = append(statements, sqlite.Statement{
				Text: endSQL, Args: []any{stamp.Stored(now), string(event.WebhookFailing), n.Subject},
			})
		}
		return statements, err
	})
	return err
}

func (s *Service) each(query string, scan func(*sql.Rows) error, args ...any) error {
	return sqlite.Each(sqlite.Direct(s.app.ConcurrentDB()), query, scan, args...)
}

// suspectsSQL returns the webhooks that have retries to make, were not changed since ?1, and have no notice that they
// fail. It hops from webhook to webhook through the index of retried deliveries. attemptsSQL returns when the first
// of the webhook's attempts at these deliveries since ?2 was made, and how many there were.
var (
	suspectsSQL = "WITH RECURSIVE retried(`webhook`) AS " +
		"(SELECT min(`webhook`) FROM `deliveries` INDEXED BY `idx_deliveries_retried` " +
		"WHERE `status` = 'pending' AND `attempts` > 0 " +
		"UNION ALL SELECT (SELECT min(d.`webhook`) FROM `deliveries` d INDEXED BY `idx_deliveries_retried` " +
		"WHERE d.`status` = 'pending' AND d.`attempts` > 0 AND d.`webhook` > r.`webhook`) " +
		"FROM retried r WHERE r.`webhook` IS NOT NULL) " +
		"SELECT w.`id`, w.`tenant`, w.`name`, w.`url`, '', '' FROM retried r " +
		"CROSS JOIN `webhooks` w ON w.`id` = r.`webhook` AND w.`disabled` = 0 AND w.`updated` <= ?1 " +
		"CROSS JOIN `tenants` t ON t.`id` = w.`tenant` AND " + open +
		" WHERE NOT EXISTS (SELECT 1 FROM `_notices` n WHERE n.`kind` = '" + string(event.WebhookFailing) +
		"' AND n.`subject` = w.`id` AND n.`ended` = '')"

	attemptsSQL = "SELECT coalesce(min(a.`started`), ''), count(*) " +
		"FROM `deliveries` d INDEXED BY `idx_deliveries_retried` " +
		"CROSS JOIN `delivery_attempts` a ON a.`delivery` = d.`id` AND a.`started` >= ?2 " +
		"WHERE d.`webhook` = ?1 AND d.`status` = 'pending' AND d.`attempts` > 0"
)

// failing returns a notice of each webhook that has started to fail.
func (s *Service) failing(_ context.Context, now time.Time) (found []Notice, err error) {
	since := now.Add(-failingFor)
	suspects, err := s.webhooks(event.WebhookFailing, suspectsSQL, stamp.Stored(since))
	if err != nil {
		return nil, err
	}
	for _, n := range suspects {
		last, err := activity.LastDelivered(s.app, n.Subject, now)
		if err != nil {
			return nil, err
		}
		if last.Add(time.Minute).After(since) {
			continue
		}
		attempts := 0
		err = s.each(attemptsSQL, func(rows *sql.Rows) error { return rows.Scan(&n.Episode, &attempts) },
			n.Subject, stamp.Stored(last))
		if err != nil {
			return nil, fmt.Errorf("counting the attempts of the webhook %s: %w", n.Subject, err)
		}
		if attempts >= failingAttempts && n.Episode <= stamp.Stored(since) {
			n.Lasts = true
			n.Data.Reason = "No attempt has succeeded for an hour."
			found = append(found, n)
		}
	}
	return found, nil
}

// failedSQL returns the enabled webhooks with a notice that they fail, in the columns of suspectsSQL.
var failedSQL = "SELECT w.`id`, w.`tenant`, w.`name`, w.`url`, n.`episode`, n.`created` FROM `_notices` n " +
	"CROSS JOIN `webhooks` w ON w.`id` = n.`subject` AND w.`disabled` = 0 " +
	"CROSS JOIN `tenants` t ON t.`id` = w.`tenant` AND " + open +
	" WHERE n.`kind` = '" + string(event.WebhookFailing) + "' AND n.`ended` = ''"

// recovered returns a notice of each failing webhook that has accepted a delivery since.
func (s *Service) recovered(_ context.Context, now time.Time) (found []Notice, err error) {
	failed, err := s.webhooks(event.WebhookRecovered, failedSQL)
	for _, n := range failed {
		last, err := activity.LastDelivered(s.app, n.Subject, now)
		if err != nil {
			return nil, err
		}
		if !last.Before(n.noticed.Truncate(time.Hour)) { // there was no success in the hour before the notice
			found = append(found, n)
		}
	}
	return found, err
}

// webhooks returns a notice for each row of a query: id, tenant, name and URL of the webhook, and episode and time
// of its last notice.
func (s *Service) webhooks(kind event.Kind, query string, args ...any) (notices []Notice, err error) {
	err = s.each(query, func(rows *sql.Rows) error {
		n := Notice{Kind: kind}
		var name, address, noticed string
		err := rows.Scan(&n.Subject, &n.Tenant, &name, &address, &n.Episode, &noticed)
		n.Data.Webhook, n.noticed = newWebhook(n.Subject, name, address), stamp.Parse(noticed)
		notices = append(notices, n)
		return err
	}, args...)
	if err != nil {
		return nil, fmt.Errorf("looking for webhooks that fail or work again: %w", err)
	}
	return notices, nil
}

// expiryEpisode is the expiry of a key k and its threshold; ?3 is the end of the nearer one.
const expiryEpisode = "k.`expires` || iif(k.`expires` <= ?3, ' 1d', ' 14d')"

// expiringSQL returns the keys that expire between ?1 and ?2, were not rotated, and have no notice of it.
var expiringSQL = "SELECT k.`id`, k.`tenant`, k.`name`, k.`prefix`, k.`expires`, " + expiryEpisode + " " +
	"FROM `api_keys` k CROSS JOIN `tenants` t ON t.`id` = k.`tenant` AND " + open +
	" WHERE k.`expires` != '' AND k.`expires` > ?1 AND k.`expires` <= ?2 AND k.`revoked` = '' AND " +
	credential.Unrotated + " AND NOT EXISTS (" +
	"SELECT 1 FROM `_notices` n WHERE n.`kind` = '" + string(event.KeyExpiring) +
	"' AND n.`subject` = k.`id` AND n.`episode` = " + expiryEpisode + ")"

// expiring returns a notice of each key that expires soon, one for each threshold.
func (s *Service) expiring(_ context.Context, now time.Time) (found []Notice, err error) {
	err = s.each(expiringSQL, func(rows *sql.Rows) error {
		n := Notice{Kind: event.KeyExpiring, Data: Data{Key: &Key{}}}
		var expires string
		err := rows.Scan(&n.Subject, &n.Tenant, &n.Data.Key.Name, &n.Data.Key.Prefix, &expires, &n.Episode)
		n.Data.Key.ID, n.Data.Expires = n.Subject, stamp.Show(expires)
		found = append(found, n)
		return err
	}, stamp.Stored(now), stamp.Stored(now.Add(weeksBefore)), stamp.Stored(now.Add(dayBefore)))
	if err != nil {
		return nil, fmt.Errorf("looking for keys that expire: %w", err)
	}
	return found, nil
}

// Check looks for a condition, and the operator gets a notice when it begins.
type Check struct {
	Kind event.Kind
	Look func(context.Context) error // returns what is wrong
}

// lastSQL returns whether a notice of the kind ?1 lasts, and when the last one was written.
const lastSQL = "SELECT coalesce(max(`ended` = ''), 0), coalesce(max(`created`), '') " +
	"FROM `_notices` WHERE `kind` = ?1 AND `subject` = ''"

// checked returns a notice of each check that has begun to fail, and ends those of checks that succeed.
func (s *Service) checked(ctx context.Context, now time.Time) (found []Notice, failed error) {
	for _, check := range s.checks {
		var lasts bool
		var last string
		err := s.each(lastSQL, func(rows *sql.Rows) error { return rows.Scan(&lasts, &last) }, string(check.Kind))
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("reading the last notice %s: %w", check.Kind, err))
			continue
		}
		fault := check.Look(ctx)
		switch {
		case fault == nil && lasts:
			_, err := sqlite.Exec(s.app, endSQL, stamp.Stored(now), string(check.Kind), "")
			failed = errors.Join(failed, err)
		case fault != nil && !lasts && stamp.Parse(last).Before(now.Add(-quiet)):
			found = append(found, Notice{
				Kind: check.Kind, Episode: stamp.Stored(now), Lasts: true, Data: Data{Reason: fault.Error()},
			})
		}
	}
	return found, failed
}
