package overview

import (
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/activity"
	"contactbase/internal/credential"
	"contactbase/internal/event"
	"contactbase/internal/stamp"
)

// Landing is the content of the first page of the dashboard, or of a tenant's portal.
type Landing struct {
	Steps    []Step    `json:"steps"`    // of the span, the oldest first
	Contacts int       `json:"contacts"` // at most 10,000
	Problems []Problem `json:"problems"`
	More     bool      `json:"more"` // whether there are more problems than listed
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
	WebhookFailing  ProblemKind = "webhook_failing"  // see activity.Failing; the counts are of its last hour
	// the count is the number of deliveries that failed in the last 24 hours, without pings
	DeliveriesLost ProblemKind = "deliveries_failed"
	KeyExpires     ProblemKind = "key_expires" // within two weeks, and it was not rotated
)

const (
	maxProblems = 20                  // of each kind
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
	landing := &Landing{Problems: []Problem{}}
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
	for _, find := range []func() ([]Problem, error){
		func() ([]Problem, error) { return disabledWebhooks(app, tenantID) },
		func() ([]Problem, error) { return failingWebhooks(app, tenantID, activity.Day(now).Start) },
		func() ([]Problem, error) { return expiringKeys(app, tenantID, now) },
	} {
		found, err := find()
		if err != nil {
			return nil, fmt.Errorf("looking for problems: %w", err)
		}
		landing.Problems = append(landing.Problems, found[:min(len(found), maxProblems)]...)
		landing.More = landing.More || len(found) > maxProblems
	}
	return landing, nil
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

func disabledWebhooks(app core.App, tenantID string) ([]Problem, error) {
	return findProblems(app, WebhookDisabled,
		"SELECT w.[[id]], "+displayName+", "+owner+", w.[[disabledReason]] AS [[detail]], w.[[updated]] AS [[at]] "+
			"FROM {{webhooks}} w JOIN {{tenants}} t ON t.[[id]] = w.[[tenant]] "+
			"WHERE w.[[disabled]] = 1 AND "+ofTenant+" ORDER BY w.[[updated]] DESC LIMIT {:limit}",
		dbx.Params{"tenant": tenantID})
}

func expiringKeys(app core.App, tenantID string, now time.Time) ([]Problem, error) {
	return findProblems(app, KeyExpires, "SELECT k.[[id]], k.[[name]], "+owner+", k.[[expires]] AS [[at]] "+
		"FROM {{api_keys}} k JOIN {{tenants}} t ON t.[[id]] = k.[[tenant]] "+
		"WHERE k.[[expires]] > {:now} AND k.[[expires]] < {:soon} AND "+
		"k.[[revoked]] = '' AND "+credential.Unrotated+" AND "+ofTenant+" ORDER BY k.[[expires]] LIMIT {:limit}",
		dbx.Params{"tenant": tenantID, "now": stamp.Stored(now), "soon": stamp.Stored(now.Add(expiresSoon))})
}

func findProblems(app core.App, kind ProblemKind, query string, params dbx.Params) ([]Problem, error) {
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
		problems[i] = Problem{
			Kind: kind, ID: row.ID, Name: row.Name,
			Tenant: &Tenant{row.TenantID, row.TenantName}, Detail: row.Detail, At: shown(row.At),
		}
	}
	return problems, nil
}

// failingWebhooks returns the enabled webhooks that are failing, or have deliveries that failed since that time and
// were not recovered.
func failingWebhooks(app core.App, tenantID string, since time.Time) ([]Problem, error) {
	webhooks, err := activity.FailingWebhooks(app, tenantID, since, maxProblems+1)
	if err != nil {
		return nil, err
	}
	var problems []Problem
	for _, webhook := range webhooks {
		p := Problem{Kind: DeliveriesLost, ID: webhook.ID, Tenant: &Tenant{}, Count: webhook.Failed}
		if last := webhook.Last; webhook.Failing {
			hour := stamp.Shown(webhook.Hour)
			p.Kind, p.At, p.Count, p.Of = WebhookFailing, &hour, last.Retried+last.Failed, last.Total()
		}
		err := app.DB().NewQuery("SELECT "+displayName+", "+owner+" FROM {{webhooks}} w "+
			"JOIN {{tenants}} t ON t.[[id]] = w.[[tenant]] WHERE w.[[id]] = {:id}").
			Bind(dbx.Params{"id": p.ID}).Row(&p.Name, &p.Tenant.ID, &p.Tenant.Name)
		if errors.Is(err, sql.ErrNoRows) { // the webhook has just been deleted
			continue
		}
		if err != nil {
			return nil, err
		}
		problems = append(problems, p)
	}
	return problems, nil
}
