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
	Steps    []Step    `json:"steps"`    // the last 24 hours, by the hour
	Contacts int       `json:"contacts"` // at most 10,000
	Problems []Problem `json:"problems"`
	More     bool      `json:"more"` // there are more problems than are listed
}

// Step is an hour.
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
	Detail string      `json:"detail"` // what is known beside it
	At     *string     `json:"at"`     // since when, or until when
	Count  int64       `json:"count"`  // of attempts or deliveries
}

// ProblemKind tells what is wrong.
type ProblemKind string

// The kinds of problems.
const (
	NotReady        ProblemKind = "not_ready"         // the program: the name is of a check, the detail says why
	WebhookDisabled ProblemKind = "webhook_disabled"  // the detail is the reason
	WebhookFailing  ProblemKind = "webhook_failing"   // no attempt of its last hour succeeded; the count is of that hour
	DeliveriesLost  ProblemKind = "deliveries_failed" // so many were given up in the last 24 hours
	KeyExpires      ProblemKind = "key_expires"       // within two weeks
)

const (
	// maxProblems is how many of a kind are listed.
	maxProblems = 20
	// expiresSoon is how long before its end a key is a problem.
	expiresSoon = 14 * 24 * time.Hour
)

// Land returns what an admin sees first. What is wrong with the program itself the caller adds.
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
	for _, look := range []func() ([]Problem, error){
		func() ([]Problem, error) { return disabledWebhooks(app) },
		func() ([]Problem, error) { return troubledWebhooks(app, span) },
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

// called is what an admin calls a webhook.
const called = "CASE WHEN [[name]] != '' THEN [[name]] ELSE [[url]] END"

func disabledWebhooks(app core.App) ([]Problem, error) {
	return list(app, WebhookDisabled, "SELECT [[id]], "+called+" AS [[name]], [[disabledReason]] AS [[detail]], [[updated]] AS [[at]] "+
		"FROM {{webhooks}} WHERE [[disabled]] = 1 ORDER BY [[updated]] DESC LIMIT {:limit}", dbx.Params{})
}

func expiringKeys(app core.App, now time.Time) ([]Problem, error) {
	return list(app, KeyExpires, "SELECT k.[[id]], k.[[name]], t.[[name]] AS [[detail]], k.[[expires]] AS [[at]] "+
		"FROM {{api_keys}} k JOIN {{tenants}} t ON t.[[id]] = k.[[tenant]] "+
		"WHERE k.[[expires]] > {:now} AND k.[[expires]] < {:soon} AND k.[[revoked]] = '' ORDER BY k.[[expires]] LIMIT {:limit}",
		dbx.Params{"now": stamp.Stored(now), "soon": stamp.Stored(now.Add(expiresSoon))})
}

func list(app core.App, kind ProblemKind, query string, params dbx.Params) ([]Problem, error) {
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

// troubledWebhooks returns the webhooks, those that are not disabled, that fail or have failed.
func troubledWebhooks(app core.App, span activity.Span) ([]Problem, error) {
	troubled, err := activity.Troubled(app, span, maxProblems+1)
	if err != nil {
		return nil, err
	}
	problems := make([]Problem, len(troubled))
	for i, trouble := range troubled {
		p := &problems[i]
		*p = Problem{Kind: DeliveriesLost, ID: trouble.Webhook, Count: trouble.Failed}
		if trouble.Last.Delivered == 0 {
			since := stamp.Shown(trouble.Hour)
			p.Kind, p.At, p.Count = WebhookFailing, &since, trouble.Last.Total()
		}
		err := app.DB().NewQuery("SELECT " + called + " FROM {{webhooks}} WHERE [[id]] = {:id}").Bind(dbx.Params{"id": p.ID}).Row(&p.Name)
		if err != nil && !errors.Is(err, sql.ErrNoRows) { // deleted just now
			return nil, err
		}
	}
	return problems, nil
}
