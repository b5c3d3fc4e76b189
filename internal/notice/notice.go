// Package notice notifies people and programs when a webhook fails, is disabled or works again, when a key expires,
// and when the program needs its operator.
//
// A notice is a row of `_notices`, written in the transaction that changes the state, so that it exists once for
// each change. The same transaction writes an event, which webhooks and readers of the feed get if they ask for its
// kind, and a row of `_noticeMails` for each recipient. Service finds the changes that happen in no transaction,
// and sends the mails.
package notice

import (
	"database/sql"
	"fmt"
	"net/url"
	"time"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/event"
	"contactbase/internal/member"
	"contactbase/internal/recordid"
	"contactbase/internal/sqlite"
	"contactbase/internal/stamp"
	"contactbase/internal/tenant"
	"contactbase/internal/wire"
)

// The kinds of notices that only the operator gets, by mail. The others are kinds of events.
const (
	ReplicaBehind event.Kind = "replica.behind"
	BackupFailed  event.Kind = "backup.failed"
	DiskLow       event.Kind = "disk.low"
)

// Notice describes one change.
type Notice struct {
	Kind    event.Kind
	Subject string // id of the webhook or key; "" for the program
	Episode string // tells changes of the same kind and subject apart
	Tenant  string // its id; "" for the operator's kinds
	Lasts   bool   // whether it describes a condition that ends later
	Data    Data

	noticed time.Time // when an earlier notice of the subject was written
}

// Data is what a notice says. It is the data of the event.
type Data struct {
	Webhook *Webhook `json:"webhook,omitempty"`
	Key     *Key     `json:"key,omitempty"`
	Expires string   `json:"expires,omitempty"` // the key's expiry, as responses show times
	Reason  string   `json:"reason,omitempty"`
}

// Webhook is the webhook of a notice.
type Webhook struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	URL  string `json:"url"` // without query, which may contain a token
}

// Key is the API key of a notice.
type Key struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	Prefix string `json:"prefix"`
}

func newWebhook(id, name, address string) *Webhook {
	shown := ""
	if parsed, err := url.Parse(address); err == nil {
		parsed.User, parsed.RawQuery, parsed.Fragment = nil, "", ""
		shown = parsed.String()
	}
	return &Webhook{id, name, shown}
}

// urgent reports whether the notice is mailed at once to those who get mails immediately.
func (n *Notice) urgent() bool { return n.Tenant == "" || n.Kind == event.WebhookDisabled }

const (
	// needlessSQL reports whether there is such a notice, or its tenant or subject has been deleted: nothing would delete
	// the rows of a tenant that is gone.
	needlessSQL = "SELECT EXISTS (SELECT 1 FROM `_notices` " +
		"WHERE `kind` = :kind AND `subject` = :subject AND `episode` = :episode) OR :tenant != '' AND NOT EXISTS (" +
		"SELECT 1 FROM `tenants` t WHERE t.`id` = :tenant AND (EXISTS " +
		"(SELECT 1 FROM `webhooks` w WHERE w.`id` = :subject AND w.`tenant` = t.`id`) OR " +
		"EXISTS (SELECT 1 FROM `api_keys` k WHERE k.`id` = :subject AND k.`tenant` = t.`id`)))"

	insertSQL = "INSERT OR IGNORE INTO `_notices` (`id`, `kind`, `subject`, " +
		"`episode`, `tenant`, `data`, `created`, `ended`) " +
		"VALUES (:id, :kind, :subject, :episode, :tenant, :data, :created, :ended)"

	// mailsSQL adds the recipients of a notice: the admins of its tenant, or the superusers if it has none.
	mailsSQL = "INSERT OR IGNORE INTO `_noticeMails` (`notice`, `recipient`, `urgent`, `due`) " +
		"SELECT :notice, `id`, :urgent, iif(`notify` = 'daily', :daily, :now) FROM `" + member.CollectionName + "` " +
		"WHERE `tenant` = :tenant AND `role` = '" + member.RoleAdmin + "' AND `link` = 0 AND `notify` != 'never' " +
		"UNION ALL SELECT :notice, `id`, :urgent, :now FROM `" + core.CollectionNameSuperusers + "` " +
		"WHERE :tenant = '' AND `email` != '" + core.DefaultInstallerEmail + "'"
)

// Insert returns the statements that write the notice, its event and the rows of its mails. It returns none if the
// notice exists, or its tenant or subject no longer does. A tenant that accepts no writes gets no event.
func Insert(tx sqlite.Reader, n Notice, now time.Time) ([]sqlite.Statement, error) {
	needless, err := sqlite.Value[bool](tx, needlessSQL, sqlite.Named(map[string]any{
		"kind": string(n.Kind), "subject": n.Subject, "episode": n.Episode, "tenant": n.Tenant,
	})...)
	if err != nil || needless {
		return nil, err
	}
	data, err := wire.AppendJSON(nil, n.Data)
	if err != nil {
		return nil, fmt.Errorf("encoding a notice: %w", err)
	}
	id, at, ended := recordid.New(now), stamp.Stored(now), stamp.Stored(now)
	if n.Lasts {
		ended = ""
	}
	statements := []sqlite.Statement{
		{Text: insertSQL, Args: sqlite.Named(map[string]any{
			"id": id, "kind": string(n.Kind), "subject": n.Subject, "episode": n.Episode, "tenant": n.Tenant,
			"data": string(data), "created": at, "ended": ended,
		})},
		{Text: mailsSQL, Args: sqlite.Named(map[string]any{
			"notice": id, "tenant": n.Tenant, "urgent": n.urgent(), "now": at, "daily": stamp.Stored(nextDigest(now)),
		})},
	}
	if n.Tenant == "" {
		return statements, nil
	}
	state, err := tenant.StateOf(tx, n.Tenant)
	if err != nil || state.Writable() != nil {
		return statements, err
	}
	emit, err := event.Insert(&event.Event{Kind: n.Kind, TenantID: n.Tenant, Data: n.Data}, now)
	return append(statements, emit), err
}

// digestHour is when daily mails are sent, in UTC.
const digestHour = 7 * time.Hour

// nextDigest returns when the next daily mails are sent.
func nextDigest(now time.Time) time.Time {
	const day = 24 * time.Hour
	at := now.UTC().Truncate(day).Add(digestHour)
	if at.Before(now) {
		at = at.Add(day)
	}
	return at
}

const enabledSQL = "SELECT `tenant`, `name`, `url` FROM `webhooks` WHERE `id` = ? AND `disabled` = 0"

// Disabled returns the statements that write the notice that the program disables a webhook, and none
// if it is disabled.
func Disabled(tx sqlite.Reader, webhook, reason string, now time.Time) ([]sqlite.Statement, error) {
	n := Notice{Kind: event.WebhookDisabled, Subject: webhook, Episode: stamp.Stored(now)}
	err := sqlite.Each(tx, enabledSQL, func(rows *sql.Rows) error {
		var name, address string
		err := rows.Scan(&n.Tenant, &name, &address)
		n.Data = Data{Webhook: newWebhook(webhook, name, address), Reason: reason}
		return err
	}, webhook)
	if err != nil || n.Tenant == "" {
		return nil, err
	}
	return Insert(tx, n, now)
}
