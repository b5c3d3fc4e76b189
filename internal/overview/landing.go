package overview

import (
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/activity"
	"contactbase/internal/event"
	"contactbase/internal/stamp"
)

// Landing is what an admin sees first.
type Landing struct {
	Steps    []Step    `json:"steps"`    // of the span, the oldest first
	Contacts int       `json:"contacts"` // at most 10,000
	Problems []Problem `json:"problems"`
	More     bool      `json:"more"` // there are more problems than are listed
}

// Step is a bar of a chart.
type Step struct {
	Start     string `json:"start"`
	Created   int64  `json:"created"` // contacts
	Updated   int64  `json:"updated"`
	Deleted   int64  `json:"deleted"`
	Delivered int64  `json:"delivered"` // attempts to deliver an event
	Retried   int64  `json:"retried"`
	Failed    int64  `json:"failed"`
	Calls     int64  `json:"calls"`   // of the API, all of them
	Refused   int64  `json:"refused"` // calls with a status of 400 or more
}

// Problem is something that is wrong now.
type Problem struct {
	Kind   ProblemKind `json:"kind"`
	ID     string      `json:"id"` // of the webhook or the key; "" for the program itself
	Name   string      `json:"name"`
	Tenant *Tenant     `json:"tenant"` // whose webhook or key it is; nil for the program itself
	Detail string      `json:"detail"` // what is known beside it
	At     *string     `json:"at"`     // since when, or until when
	Count  int64       `json:"count"`  // of failed attempts or deliveries
	Of     int64       `json:"of"`     // all attempts, of which so many failed; 0 for other problems
}

// Tenant is whose webhook or key a problem is about.
type Tenant struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// ProblemKind tells what is wrong.
type ProblemKind string

// The kinds of problems.
const (
	NotReady        ProblemKind = "not_ready"         // the program: the name is of a check, the detail says why
	WebhookDisabled ProblemKind = "webhook_disabled"  // the detail is the reason
	WebhookFailing  ProblemKind = "webhook_failing"   // most attempts of its last hour failed; the counts are of that hour
	DeliveriesLost  ProblemKind = "deliveries_failed" // so many were given up in the last 24 hours
	KeyExpires      ProblemKind = "key_expires"       // within two weeks
)

const (
	// maxProblems is how many of a kind are listed.
	maxProblems = 20
	// expiresSoon is how long before its end a key is a problem.
	expiresSoon = 14 * 24 * time.Hour
)

// Land returns what an admin sees first: what happened in the span, and what is wrong now. What is wrong with the program itself the
// caller adds.
func Land(app core.App, span activity.Span, now time.Time) (*Landing, error) {
	attempts, err := activity.OfWebhooks(app, span)
	if err != nil {
		return nil, err
	}
	events, err := activity.OfEvents(app, span)
	if err != nil {
		return nil, err
	}
	calls, err := activity.OfKeys(app, span)
	if err != nil {
		return nil, err
	}
	landing := &Landing{Problems: []Problem{}}
	for i := range span.Steps {
		e, a, c := events[i], attempts[i], calls[i]
		refused := c.Refused + c.Limited + c.Failed
		landing.Steps = append(landing.Steps, Step{
			Start:   stamp.Shown(span.StartOf(i)),
			Created: e[string(event.ContactCreated)], Updated: e[string(event.ContactUpdated)], Deleted: e[string(event.ContactDeleted)],
			Delivered: a.Delivered, Retried: a.Retried, Failed: a.Failed,
			Calls: c.Answered + refused, Refused: refused,
		})
	}
	if landing.Contacts, err = countContacts(app); err != nil {
		return nil, err
	}
	for _, look := range []func() ([]Problem, error){
		func() ([]Problem, error) { return disabledWebhooks(app) },
		func() ([]Problem, error) { return troubledWebhooks(app, activity.Day(now).Start) },
		func() ([]Problem, error) { return expiringKeys(app, now) },
	} {
		found, err := look()
		if err != nil {
			return nil, fmt.Errorf("looking for what is wrong: %w", err)
		}
		landing.Problems = append(landing.Problems, found[:min(len(found), maxProblems)]...)
		landing.More = landing.More || len(found) > maxProblems
	}
	return landing, nil
}

func countContacts(app core.App) (n int, err error) {
	err = app.DB().NewQuery("SELECT COUNT(*) FROM (SELECT 1 FROM {{contacts}} LIMIT {:cap})").Bind(dbx.Params{"cap": countCap}).Row(&n)
	if err != nil {
		return 0, fmt.Errorf("counting contacts: %w", err)
	}
	return n, nil
}

const (
	// called is what an admin calls a webhook.
	called = "CASE WHEN w.[[name]] != '' THEN w.[[name]] ELSE w.[[url]] END AS [[name]]"
	// owner is the tenant of a webhook or a key.
	owner = "t.[[id]] AS [[tenantID]], t.[[name]] AS [[tenantName]]"
)

func disabledWebhooks(app core.App) ([]Problem, error) {
	return list(app, WebhookDisabled, "SELECT w.[[id]], "+called+", "+owner+", w.[[disabledReason]] AS [[detail]], w.[[updated]] AS [[at]] "+
		"FROM {{webhooks}} w JOIN {{tenants}} t ON t.[[id]] = w.[[tenant]] WHERE w.[[disabled]] = 1 ORDER BY w.[[updated]] DESC LIMIT {:limit}", dbx.Params{})
}

func expiringKeys(app core.App, now time.Time) ([]Problem, error) {
	return list(app, KeyExpires, "SELECT k.[[id]], k.[[name]], "+owner+", k.[[expires]] AS [[at]] "+
		"FROM {{api_keys}} k JOIN {{tenants}} t ON t.[[id]] = k.[[tenant]] "+
		"WHERE k.[[expires]] > {:now} AND k.[[expires]] < {:soon} AND k.[[revoked]] = '' ORDER BY k.[[expires]] LIMIT {:limit}",
		dbx.Params{"now": stamp.Stored(now), "soon": stamp.Stored(now.Add(expiresSoon))})
}

func list(app core.App, kind ProblemKind, query string, params dbx.Params) ([]Problem, error) {
	var rows []struct {
		ID         string `db:"id"`
		Name       string `db:"name"`
		TenantID   string `db:"tenantID"`
		TenantName string `db:"tenantName"`
		Detail     string `db:"detail"`
		At         string `db:"at"`
	}
	params["limit"] = maxProblems + 1
	if err := app.DB().NewQuery(query).Bind(params).All(&rows); err != nil {
		return nil, err
	}
	problems := make([]Problem, len(rows))
	for i, row := range rows {
		problems[i] = Problem{Kind: kind, ID: row.ID, Name: row.Name, Tenant: &Tenant{row.TenantID, row.TenantName}, Detail: row.Detail, At: shown(row.At)}
	}
	return problems, nil
}

// troubledWebhooks returns the webhooks that are not disabled and are failing, or have failed since that time.
func troubledWebhooks(app core.App, since time.Time) ([]Problem, error) {
	troubled, err := activity.Troubled(app, since, maxProblems+1)
	if err != nil {
		return nil, err
	}
	var problems []Problem
	for _, trouble := range troubled {
		p := Problem{Kind: DeliveriesLost, ID: trouble.Webhook, Tenant: &Tenant{}, Count: trouble.Failed}
		if last := trouble.Last; last.Failing() {
			since := stamp.Shown(trouble.Hour)
			p.Kind, p.At, p.Count, p.Of = WebhookFailing, &since, last.Retried+last.Failed, last.Total()
		}
		err := app.DB().NewQuery("SELECT "+called+", "+owner+" FROM {{webhooks}} w JOIN {{tenants}} t ON t.[[id]] = w.[[tenant]] WHERE w.[[id]] = {:id}").
			Bind(dbx.Params{"id": p.ID}).Row(&p.Name, &p.Tenant.ID, &p.Tenant.Name)
		if errors.Is(err, sql.ErrNoRows) { // deleted just now
			continue
		}
		if err != nil {
			return nil, err
		}
		problems = append(problems, p)
	}
	return problems, nil
}
