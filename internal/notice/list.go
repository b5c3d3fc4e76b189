package notice

import (
	"database/sql"
	"encoding/json"
	"fmt"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/event"
	"contactbase/internal/sqlite"
	"contactbase/internal/stamp"
)

// Written is a notice that has been written, with what became of its emails.
type Written struct {
	ID      string     `json:"id"`
	Kind    event.Kind `json:"kind"`
	Tenant  *Tenant    `json:"tenant"` // nil for the operator's kinds
	Title   string     `json:"title"`
	Detail  string     `json:"detail"`
	Created string     `json:"created"`
	Lasts   bool       `json:"lasts"` // whether the condition has not ended yet
	Emails  Emails     `json:"emails"`
}

// Tenant is the tenant of a notice.
type Tenant struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// Emails has the numbers of the recipients of a notice.
type Emails struct {
	Sent    int `json:"sent"`
	Waiting int `json:"waiting"`
	GivenUp int `json:"givenUp"`
}

// latestSQL returns the newest notices, those of the tenant :tenant in latestOfSQL. A mail was given up if it is done
// although nothing was sent, or later than mails are sent.
const (
	noticesSQL = "SELECT n.`id`, n.`kind`, n.`tenant`, coalesce(t.`name`, ''), n.`data`, n.`created`, n.`ended` = '', " +
		"coalesce(sum(m.`done` = ''), 0), coalesce(sum(m.`done` != '' AND " + givenUp + "), 0), count(m.`recipient`) " +
		"FROM (SELECT * FROM `_notices` "
	givenUp     = "(m.`mail` = '' OR julianday(m.`done`) - julianday(n.`created`) >= :days)"
	newestSQL   = "ORDER BY `created` DESC LIMIT :limit) n "
	withMails   = "LEFT JOIN `tenants` t ON t.`id` = n.`tenant` LEFT JOIN `_noticeMails` m ON m.`notice` = n.`id` "
	inOrder     = "GROUP BY n.`id` ORDER BY n.`created` DESC, n.`id` DESC"
	latestSQL   = noticesSQL + newestSQL + withMails + inOrder
	latestOfSQL = noticesSQL + "WHERE `tenant` = :tenant " + newestSQL + withMails + inOrder
)

// Latest returns the newest notices of a tenant, or of all tenants and the operator if the id is "".
func Latest(app core.App, tenantID string, limit int) ([]Written, error) {
	query, args := latestSQL, map[string]any{"limit": limit, "days": givenUpAfter.Hours() / 24}
	if tenantID != "" {
		query, args["tenant"] = latestOfSQL, tenantID
	}
	all := []Written{}
	err := sqlite.Each(sqlite.Direct(app.ConcurrentDB()), query, func(rows *sql.Rows) error {
		var w Written
		var owner Tenant
		var data, created string
		var recipients int
		err := rows.Scan(&w.ID, &w.Kind, &owner.ID, &owner.Name, &data, &created, &w.Lasts,
			&w.Emails.Waiting, &w.Emails.GivenUp, &recipients)
		if err != nil {
			return err
		}
		l := line{Kind: w.Kind}
		if err := json.Unmarshal([]byte(data), &l.Data); err != nil {
			return err
		}
		w.Title, w.Detail = describe(l)
		w.Created = stamp.Show(created)
		w.Emails.Sent = recipients - w.Emails.Waiting - w.Emails.GivenUp
		if owner.ID != "" {
			w.Tenant = &owner
		}
		all = append(all, w)
		return nil
	}, sqlite.Named(args)...)
	if err != nil {
		return nil, fmt.Errorf("reading notices: %w", err)
	}
	return all, nil
}
