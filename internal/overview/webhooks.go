package overview

import (
	"cmp"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/activity"
	"contactbase/internal/sqlite"
	"contactbase/internal/stamp"
)

// WebhooksQuery selects webhooks. Zero values select all.
type WebhooksQuery struct {
	Tenant string
	Health HealthState
	Search string // a part of the name or the URL, in any case
	Sort   string // a key of webhookOrders, with - in front for descending
	Limit  int
	Offset int
}

// WebhookLine is a line of the list of webhooks.
type WebhookLine struct {
	ID          string      `json:"id" db:"id"`
	Tenant      string      `json:"tenant" db:"tenant"`
	Name        string      `json:"name" db:"name"`
	URL         string      `json:"url" db:"url"`
	Health      HealthState `json:"health" db:"-"`
	ErrorRate   float64     `json:"errorRate" db:"-"` // 0 to 1, of the attempts of the last 24 hours
	Attempts    int64       `json:"attempts" db:"-"`  // in the last 24 hours
	Pending     int         `json:"pending" db:"-"`   // deliveries, at most 10,000
	Failed      int         `json:"failed" db:"-"`    // deliveries, at most 10,000
	LastSuccess *string     `json:"lastSuccess" db:"-"`
	Trouble

	FailedAttempts int64  `json:"-" db:"-"` // in the last 24 hours
	LastAttempts   int64  `json:"-" db:"-"` // failed ones in that time that were the last of their deliveries
	Created        string `json:"-" db:"created"`
	Disabled       bool   `json:"-" db:"disabled"`
}

// HealthTotals has the number of webhooks in each state.
type HealthTotals struct {
	Healthy  int `json:"healthy"`
	Degraded int `json:"degraded"`
	Failing  int `json:"failing"`
	Disabled int `json:"disabled"`
	Idle     int `json:"idle"`
}

// count returns the number of webhooks in a state.
func (t *HealthTotals) count(state HealthState) *int {
	return map[HealthState]*int{
		Healthy: &t.Healthy, Degraded: &t.Degraded, Failing: &t.Failing, Disabled: &t.Disabled, Idle: &t.Idle,
	}[state]
}

// WebhooksPage is a page of the list. The totals are those of all webhooks that the query selects by its other
// conditions than the health.
type WebhooksPage struct {
	Webhooks []WebhookLine `json:"data"`
	Totals   HealthTotals  `json:"totals"`
	HasMore  bool          `json:"hasMore"`
}

// orderByPending is the order that needs the deliveries of all webhooks.
const orderByPending = "pending"

var webhookOrders = map[string]func(a, b *WebhookLine) int{
	"errorRate":    func(a, b *WebhookLine) int { return cmp.Compare(a.ErrorRate, b.ErrorRate) },
	orderByPending: func(a, b *WebhookLine) int { return cmp.Compare(a.Pending, b.Pending) },
	"name":         func(a, b *WebhookLine) int { return cmp.Compare(a.title(), b.title()) },
	"created":      func(a, b *WebhookLine) int { return cmp.Compare(a.Created, b.Created) },
}

// Sortable reports whether a text is an order of webhooks.
func Sortable(order string) bool { return webhookOrders[strings.TrimPrefix(order, "-")] != nil }

// title is what the line is sorted by: the name or, without one, the URL.
func (w *WebhookLine) title() string { return strings.ToLower(cmp.Or(w.Name, w.URL)) }

// ListWebhooks returns a page of webhooks with their health.
func ListWebhooks(app core.App, q WebhooksQuery, now time.Time) (*WebhooksPage, error) {
	lines, err := selectWebhooks(app, q)
	if err == nil {
		err = addHealth(app, lines, now)
	}
	if err != nil {
		return nil, err
	}
	page := &WebhooksPage{Webhooks: []WebhookLine{}}
	for _, line := range lines {
		*page.Totals.count(line.Health)++
	}
	if q.Health != "" {
		lines = slices.DeleteFunc(lines, func(line WebhookLine) bool { return line.Health != q.Health })
	}
	order, descends := strings.CutPrefix(q.Sort, "-")
	if order == orderByPending {
		if err := countDeliveries(app, lines); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(lines, func(a, b WebhookLine) int {
		by := webhookOrders[order](&a, &b)
		if descends {
			by = -by
		}
		return cmp.Or(by, cmp.Compare(a.ID, b.ID))
	})
	lines = lines[min(q.Offset, len(lines)):]
	page.HasMore = len(lines) > q.Limit
	page.Webhooks = append(page.Webhooks, lines[:min(q.Limit, len(lines))]...)
	if order != orderByPending {
		err = countDeliveries(app, page.Webhooks)
	}
	return page, errors.Join(err, addLastSuccess(app, page.Webhooks, now), addFailures(app, page.Webhooks))
}

func selectWebhooks(app core.App, q WebhooksQuery) (lines []WebhookLine, err error) {
	query := app.ConcurrentDB().Select("id", "tenant", "name", "url", "created", "disabled").From("webhooks")
	if q.Tenant != "" {
		query.AndWhere(dbx.HashExp{"tenant": q.Tenant})
	}
	if err := query.All(&lines); err != nil {
		return nil, fmt.Errorf("listing webhooks: %w", err)
	}
	if search := strings.ToLower(q.Search); search != "" {
		lines = slices.DeleteFunc(lines, func(line WebhookLine) bool {
			return !strings.Contains(strings.ToLower(line.Name), search) && !strings.Contains(strings.ToLower(line.URL), search)
		})
	}
	return lines, nil
}

func addHealth(app core.App, lines []WebhookLine, now time.Time) error {
	attempts, err := activity.OfEachWebhook(app, idsOf(lines), activity.Day(now))
	for i := range lines {
		line := &lines[i]
		a := attempts[line.ID]
		line.Health, line.Attempts = healthOf(line.Disabled, a), a.Total()
		line.FailedAttempts, line.LastAttempts = a.Retried+a.Failed, a.Failed
		if line.Attempts > 0 {
			line.ErrorRate = float64(line.FailedAttempts) / float64(line.Attempts)
		}
	}
	return err
}

func idsOf(lines []WebhookLine) []string {
	ids := make([]string, len(lines))
	for i, line := range lines {
		ids[i] = line.ID
	}
	return ids
}

// countDeliveriesSQL counts the pending and failed deliveries of the webhooks ?1, of each up to ?2.
const countDeliveriesSQL = "SELECT j.`key`, " +
	"(SELECT count(*) FROM (SELECT 1 FROM `deliveries` WHERE `webhook` = j.`value` AND `status` = 'pending' LIMIT ?2)), " +
	"(SELECT count(*) FROM (SELECT 1 FROM `deliveries` WHERE `webhook` = j.`value` AND `status` = 'failed' LIMIT ?2)) " +
	"FROM json_each(?1) j"

func countDeliveries(app core.App, lines []WebhookLine) error {
	err := sqlite.Each(sqlite.Direct(app.ConcurrentDB()), countDeliveriesSQL, func(rows *sql.Rows) error {
		var i, pending, failed int
		err := rows.Scan(&i, &pending, &failed)
		lines[i].Pending, lines[i].Failed = pending, failed
		return err
	}, sqlite.List(idsOf(lines)), countCap)
	if err != nil {
		return fmt.Errorf("counting the deliveries of webhooks: %w", err)
	}
	return nil
}

func addLastSuccess(app core.App, lines []WebhookLine, now time.Time) error {
	for i := range lines {
		last, err := activity.LastDelivered(app, lines[i].ID, now)
		if err != nil {
			return err
		}
		if !last.IsZero() {
			text := stamp.Shown(last)
			lines[i].LastSuccess = &text
		}
	}
	return nil
}

func addFailures(app core.App, lines []WebhookLine) error {
	failures, err := activity.Failures(app, idsOf(lines))
	for i := range lines {
		lines[i].Trouble = troubleOf(failures[lines[i].ID])
	}
	return err
}
