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

// Landing is the content of the dashboard's first page.
type Landing struct {
	Steps    []Step    `json:"steps"`    // the last 24 hours by the hour
	Contacts int       `json:"contacts"` // at most 10,000
	Problems []Problem `json:"problems"`
	More     bool      `json:"more"` // whether there are more problems than listed
}

// Step is an hour of the charts.
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
	Detail string      `json:"detail"` // see ProblemKind
	At     *string     `json:"at"`     // when the problem began, or when the key expires
	Count  int64       `json:"count"`  // of attempts or deliveries
}

// ProblemKind is the kind of a problem.
type ProblemKind string

// The kinds of problems.
const (
	NotReady        ProblemKind = "not_ready"         // a check of the program fails: the name is that of the check, the detail is the reason
	WebhookDisabled ProblemKind = "webhook_disabled"  // the detail is the reason
	WebhookFailing  ProblemKind = "webhook_failing"   // every attempt in its last hour failed; the count is the number of those
	DeliveriesLost  ProblemKind = "deliveries_failed" // the count is the number of deliveries that failed in the last 24 hours
	KeyExpires      ProblemKind = "key_expires"       // within two weeks
)

const (
	maxProblems = 20                  // of each kind
	expiresSoon = 14 * 24 * time.Hour // how long before it expires a key is a problem
)

// Land returns the content of the first page. The caller adds the problems of the kind NotReady.
func Land(app core.App, now time.Time) (*Landing, error) {
	span := activity.Day(now)
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
	for _, find := range []func() ([]Problem, error){
		func() ([]Problem, error) { return disabledWebhooks(app) },
		func() ([]Problem, error) { return failingWebhooks(app, span) },
		func() ([]Problem, error) { return expiringKeys(app, now) },
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

func countContacts(app core.App) (n int, err error) {
	err = app.DB().NewQuery("SELECT COUNT(*) FROM (SELECT 1 FROM {{contacts}} LIMIT {:cap})").Bind(dbx.Params{"cap": countCap}).Row(&n)
	if err != nil {
		return 0, fmt.Errorf("counting contacts: %w", err)
	}
	return n, nil
}

// displayName is the name of a webhook, or its URL if it has none.
const displayName = "CASE WHEN [[name]] != '' THEN [[name]] ELSE [[url]] END"

func disabledWebhooks(app core.App) ([]Problem, error) {
	return findProblems(app, WebhookDisabled, "SELECT [[id]], "+displayName+" AS [[name]], [[disabledReason]] AS [[detail]], [[updated]] AS [[at]] "+
		"FROM {{webhooks}} WHERE [[disabled]] = 1 ORDER BY [[updated]] DESC LIMIT {:limit}", dbx.Params{})
}

func expiringKeys(app core.App, now time.Time) ([]Problem, error) {
	return findProblems(app, KeyExpires, "SELECT k.[[id]], k.[[name]], t.[[name]] AS [[detail]], k.[[expires]] AS [[at]] "+
		"FROM {{api_keys}} k JOIN {{tenants}} t ON t.[[id]] = k.[[tenant]] "+
		"WHERE k.[[expires]] > {:now} AND k.[[expires]] < {:soon} AND k.[[revoked]] = '' ORDER BY k.[[expires]] LIMIT {:limit}",
		dbx.Params{"now": stamp.Stored(now), "soon": stamp.Stored(now.Add(expiresSoon))})
}

func findProblems(app core.App, kind ProblemKind, query string, params dbx.Params) ([]Problem, error) {
	var rows []struct {
		ID     string `db:"id"`
		Name   string `db:"name"`
		Detail string `db:"detail"`
		At     string `db:"at"`
	}
	params["limit"] = maxProblems + 1
	if err := app.DB().NewQuery(query).Bind(params).All(&rows); err != nil {
		return nil, err
	}
	problems := make([]Problem, len(rows))
	for i, row := range rows {
		problems[i] = Problem{Kind: kind, ID: row.ID, Name: row.Name, Detail: row.Detail, At: shown(row.At)}
	}
	return problems, nil
}

// failingWebhooks returns the enabled webhooks that fail, or have lost deliveries in the span.
func failingWebhooks(app core.App, span activity.Span) ([]Problem, error) {
	webhooks, err := activity.FailingWebhooks(app, span, maxProblems+1)
	if err != nil {
		return nil, err
	}
	problems := make([]Problem, len(webhooks))
	for i, webhook := range webhooks {
		p := &problems[i]
		*p = Problem{Kind: DeliveriesLost, ID: webhook.ID, Count: webhook.Failed}
		if webhook.Last.Delivered == 0 {
			since := stamp.Shown(webhook.Hour)
			p.Kind, p.At, p.Count = WebhookFailing, &since, webhook.Last.Total()
		}
		err := app.DB().NewQuery("SELECT " + displayName + " FROM {{webhooks}} WHERE [[id]] = {:id}").Bind(dbx.Params{"id": p.ID}).Row(&p.Name)
		if err != nil && !errors.Is(err, sql.ErrNoRows) { // the webhook has just been deleted
			return nil, err
		}
	}
	return problems, nil
}
