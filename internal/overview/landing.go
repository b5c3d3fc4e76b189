package overview

import (
	"cmp"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/activity"
	"contactbase/internal/credential"
	"contactbase/internal/event"
	"contactbase/internal/notice"
	"contactbase/internal/sqlite"
	"contactbase/internal/stamp"
)

// Landing is the content of the first page of the dashboard, or of a tenant's portal.
type Landing struct {
	Steps         []Step              `json:"steps"`    // of the span, the oldest first
	Contacts      int                 `json:"contacts"` // at most 10,000
	Webhooks      HealthTotals        `json:"webhooks"`
	Pending       int                 `json:"pending"`        // deliveries, at most 10,000
	OldestPending *string             `json:"oldestPending"`  // when the oldest of these was created; nil for none
	Problems      []Problem           `json:"problems"`       // the first 20 of each kind
	Counts        map[ProblemKind]int `json:"counts"`         // of all problems
	More          bool                `json:"more"`           // whether there are more problems than listed
	Notices       []notice.Written    `json:"notices"`        // the latest
	NATS          *bool               `json:"nats,omitempty"` // whether webhooks may publish to NATS; nil for members
}

// Step is one bar of the charts.
type Step struct {
	Start     string `json:"start"`
	Created   int64  `json:"created"` // contacts
	Updated   int64  `json:"updated"`
	Deleted   int64  `json:"deleted"`
	Delivered int64  `json:"delivered"` // delivery attempts
	Retried   int64  `json:"retried"`
	Failed    int64  `json:"failed"`
	Calls     int64  `json:"calls"`   // all API calls
	Refused   int64  `json:"refused"` // API calls with a status of 400 or more
}

// Problem is a current problem.
type Problem struct {
	Kind   ProblemKind `json:"kind"`
	ID     string      `json:"id"` // of the webhook or key; "" for the program
	Name   string      `json:"name"`
	Tenant *Tenant     `json:"tenant"` // of the webhook or key; nil for the program
	Detail string      `json:"detail"` // see ProblemKind
	At     *string     `json:"at"`     // when the problem began, or when the key expires
	Count  int64       `json:"count"`  // of failed attempts or deliveries
	Of     int64       `json:"of"`     // all attempts, including the failed ones; 0 for other kinds
}

// Tenant is the tenant of a webhook or key with a problem.
type Tenant struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// ProblemKind is the kind of a problem.
type ProblemKind string

// The kinds of problems.
const (
	// a check of the program fails: the name is that of the check, the detail is the reason
	NotReady        ProblemKind = "not_ready"
	WebhookDisabled ProblemKind = "webhook_disabled" // the detail is the reason
	// the counts are of its attempts in the last 24 hours; at is since when all fail, and the detail why the last one
	// did: nil and "" if that succeeded
	WebhookFailing ProblemKind = "webhook_failing"
	// the count is the number of deliveries that failed in the last 24 hours, without pings
	DeliveriesLost ProblemKind = "deliveries_failed"
	KeyExpires     ProblemKind = "key_expires" // within two weeks, and it was not rotated
)

const (
	maxProblems = 20 // of each kind
	maxNotices  = 10
	expiresSoon = 14 * 24 * time.Hour // how long before it expires a key is a problem
)

// ReadLanding returns the content of the first page: the activity of the span, and current problems, of a tenant or
// of all if the id is "". The caller adds the problems of the kind NotReady.
func ReadLanding(app core.App, tenantID string, span activity.Span, now time.Time) (*Landing, error) {
	attempts, err := activity.OfWebhooks(app, tenantID, span)
	if err != nil {
		return nil, err
	}
	events, err := activity.OfEvents(app, tenantID, span)
	if err != nil {
		return nil, err
	}
	calls, err := activity.OfKeys(app, tenantID, span)
	if err != nil {
		return nil, err
	}
	landing := &Landing{Problems: []Problem{}, Counts: map[ProblemKind]int{}}
	for i := range span.Steps {
		e, a, c := events[i], attempts[i], calls[i]
		refused := c.Refused + c.Limited + c.Failed
		landing.Steps = append(landing.Steps, Step{
			Start:   stamp.Shown(span.StartOf(i)),
			Created: e[string(event.ContactCreated)],
			Updated: e[string(event.ContactUpdated)], Deleted: e[string(event.ContactDeleted)],
			Delivered: a.Delivered, Retried: a.Retried, Failed: a.Failed,
			Calls: c.Answered + refused, Refused: refused,
		})
	}
	if landing.Contacts, err = countContacts(app, tenantID); err != nil {
		return nil, err
	}
	lines, err := selectWebhooks(app, WebhooksQuery{Tenant: tenantID})
	if err != nil {
		return nil, err
	}
	if err := landing.addPending(app, lines); err != nil {
		return nil, err
	}
	for _, find := range []func() error{
		func() error { return landing.addDisabled(app, tenantID) },
		func() error { return landing.addFailing(app, lines, now) },
		func() error { return landing.addExpiring(app, tenantID, now) },
		func() (err error) { landing.Notices, err = notice.Latest(app, tenantID, maxNotices); return err },
	} {
		if err := find(); err != nil {
			return nil, fmt.Errorf("looking for problems: %w", err)
		}
	}
	return landing, nil
}

// add lists the first problems of a kind, of so many.
func (l *Landing) add(problems []Problem, of int) {
	if of == 0 {
		return
	}
	l.Counts[problems[0].Kind] = of
	l.Problems = append(l.Problems, problems[:min(len(problems), maxProblems)]...)
	l.More = l.More || of > maxProblems
}

// addPending counts the pending deliveries of the webhooks.
func (l *Landing) addPending(app core.App, lines []WebhookLine) error {
	var oldest string
	err := app.ConcurrentDB().NewQuery("SELECT COUNT(*), COALESCE(MIN([[created]]), '') FROM ("+
		"SELECT d.[[created]] FROM json_each({:ids}) j CROSS JOIN {{deliveries}} d "+
		"ON d.[[webhook]] = j.[[value]] AND d.[[status]] = 'pending' LIMIT {:cap})").
		Bind(dbx.Params{"ids": sqlite.List(idsOf(lines)), "cap": countCap}).Row(&l.Pending, &oldest)
	if err != nil {
		return fmt.Errorf("counting pending deliveries: %w", err)
	}
	l.OldestPending = shown(oldest)
	return nil
}

func countContacts(app core.App, tenantID string) (n int, err error) {
	query, params := "SELECT COUNT(*) FROM (SELECT 1 FROM {{contacts}} LIMIT {:cap})", dbx.Params{"cap": countCap}
	if tenantID != "" {
		query, params["tenant"] = "SELECT "+countOf("contacts"), tenantID
	}
	err = app.DB().NewQuery(query).Bind(params).Row(&n)
	if err != nil {
		return 0, fmt.Errorf("counting contacts: %w", err)
	}
	return n, nil
}

const (
	// displayName is the name of a webhook, or its URL if it has none.
	displayName = "CASE WHEN w.[[name]] != '' THEN w.[[name]] ELSE w.[[url]] END AS [[name]]"
	// owner is the tenant of a webhook or key.
	owner = "t.[[id]] AS [[tenantID]], t.[[name]] AS [[tenantName]]"
	// ofTenant is true for the tenant {:tenant}, or for all if that is empty.
	ofTenant = "({:tenant} = '' OR t.[[id]] = {:tenant})"
)

func (l *Landing) addDisabled(app core.App, tenantID string) error {
	return l.find(app, WebhookDisabled,
		"w.[[id]], "+displayName+", "+owner+", w.[[disabledReason]] AS [[detail]], w.[[updated]] AS [[at]]",
		"{{webhooks}} w JOIN {{tenants}} t ON t.[[id]] = w.[[tenant]] WHERE w.[[disabled]] = 1 AND "+ofTenant,
		"w.[[updated]] DESC", dbx.Params{"tenant": tenantID})
}

func (l *Landing) addExpiring(app core.App, tenantID string, now time.Time) error {
	return l.find(app, KeyExpires, "k.[[id]], k.[[name]], "+owner+", k.[[expires]] AS [[at]]",
		"{{api_keys}} k JOIN {{tenants}} t ON t.[[id]] = k.[[tenant]] "+
			"WHERE k.[[expires]] > {:now} AND k.[[expires]] < {:soon} AND "+
			"k.[[revoked]] = '' AND "+credential.Unrotated+" AND "+ofTenant, "k.[[expires]]",
		dbx.Params{"tenant": tenantID, "now": stamp.Stored(now), "soon": stamp.Stored(now.Add(expiresSoon))})
}

// find adds the problems in these rows.
func (l *Landing) find(app core.App, kind ProblemKind, columns, rows, order string, params dbx.Params) error {
	var found []struct {
		ID         string `db:"id"`
		Name       string `db:"name"`
		TenantID   string `db:"tenantID"`
		TenantName string `db:"tenantName"`
		Detail     string `db:"detail"`
		At         string `db:"at"`
	}
	var all int
	if err := app.ConcurrentDB().NewQuery("SELECT count(*) FROM " + rows).Bind(params).Row(&all); err != nil {
		return err
	}
	params["limit"] = maxProblems
	query := "SELECT " + columns + " FROM " + rows + " ORDER BY " + order + " LIMIT {:limit}"
	if err := app.ConcurrentDB().NewQuery(query).Bind(params).All(&found); err != nil {
		return err
	}
	problems := make([]Problem, len(found))
	for i, row := range found {
		problems[i] = Problem{
			Kind: kind, ID: row.ID, Name: row.Name,
			Tenant: &Tenant{row.TenantID, row.TenantName}, Detail: row.Detail, At: shown(row.At),
		}
	}
	l.add(problems, max(all, len(problems)))
	return nil
}

// addFailing adds the webhooks that are failing, those with the highest error rate first, and the others that have
// failed deliveries in the last 24 hours, those with most of them first. It also counts all webhooks by their health.
func (l *Landing) addFailing(app core.App, lines []WebhookLine, now time.Time) error {
	if err := addHealth(app, lines, now); err != nil {
		return err
	}
	var mayHaveLost []string // the others have no failed delivery that is recent, or are listed anyway
	for _, line := range lines {
		if line.LastAttempts > 0 && line.Health != Failing && line.Health != Disabled {
			mayHaveLost = append(mayHaveLost, line.ID)
		}
	}
	lost, err := activity.Lost(app, mayHaveLost, activity.Day(now).Start)
	if err != nil {
		return err
	}
	var failing, losing []Problem
	for _, line := range lines {
		*l.Webhooks.count(line.Health)++
		p := Problem{ID: line.ID, Name: cmp.Or(line.Name, line.URL), Tenant: &Tenant{ID: line.Tenant}}
		switch {
		case line.Health == Failing:
			p.Kind, p.Count, p.Of = WebhookFailing, line.FailedAttempts, line.Attempts
			failing = append(failing, p)
		case lost[line.ID] > 0:
			p.Kind, p.Count = DeliveriesLost, lost[line.ID]
			losing = append(losing, p)
		}
	}
	for _, problems := range [][]Problem{failing, losing} {
		slices.SortFunc(problems, func(a, b Problem) int {
			byRate := cmp.Compare(b.Count*max(a.Of, 1), a.Count*max(b.Of, 1)) // Of is 0 for failed deliveries
			return cmp.Or(byRate, cmp.Compare(b.Count, a.Count), cmp.Compare(a.ID, b.ID))
		})
		all := len(problems)
		problems = problems[:min(all, maxProblems)]
		if err := nameTenants(app, problems); err != nil {
			return err
		}
		if err := addReasons(app, problems); err != nil {
			return err
		}
		l.add(problems, all)
	}
	return nil
}

// addReasons adds to the problems of failing webhooks since when all attempts have failed, and why the last one did.
func addReasons(app core.App, problems []Problem) error {
	var ids []string
	for _, p := range problems {
		if p.Kind == WebhookFailing {
			ids = append(ids, p.ID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	failures, err := activity.Failures(app, ids)
	for i := range problems {
		if failure, fails := failures[problems[i].ID]; fails {
			problems[i].Detail, problems[i].At = failure.Reason, shown(failure.Since)
		}
	}
	return err
}

// nameTenants adds the names of the problems' tenants.
func nameTenants(app core.App, problems []Problem) error {
	for _, p := range problems {
		err := app.ConcurrentDB().NewQuery("SELECT [[name]] FROM {{tenants}} WHERE [[id]] = {:id}").
			Bind(dbx.Params{"id": p.Tenant.ID}).Row(&p.Tenant.Name)
		if err != nil && !errors.Is(err, sql.ErrNoRows) { // it has just been deleted
			return err
		}
	}
	return nil
}
