package overview

import (
	"database/sql"
	"errors"
	"fmt"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/sqlite"
	"contactbase/internal/stamp"
)

const (
	maxContactEvents     = 50  // the newest
	maxContactDeliveries = 500 // of these
)

// ContactHistory has the last events of a contact, the newest first.
type ContactHistory struct {
	Contact ContactName    `json:"contact"`
	Events  []ContactEvent `json:"events"`
}

// ContactName identifies a contact to people.
type ContactName struct {
	ID    string  `json:"id" db:"id"`
	Name  *string `json:"name" db:"name"`
	Email *string `json:"email" db:"email"`
}

// ContactEvent is an event about a contact, with its deliveries.
type ContactEvent struct {
	ID         string            `json:"id" db:"id"`
	Type       string            `json:"type" db:"type"`
	Contact    string            `json:"contact" db:"contact"`
	Created    string            `json:"created" db:"created"`
	Source     *EventSource      `json:"source,omitempty" db:"-"`
	Counts     DeliveryCounts    `json:"counts" db:"-"`
	Deliveries []ContactDelivery `json:"deliveries" db:"-"`
}

// EventSource is what has made the change of an event, as people know it.
type EventSource struct {
	Type   string `json:"type"`
	ID     string `json:"id,omitempty"`     // of the key, the inbound webhook or the import
	Merge  bool   `json:"merge,omitempty"`  // whether the change belongs to a merge
	Name   string `json:"name,omitempty"`   // of the key, the inbound webhook or the file, if it still exists
	Person string `json:"person,omitempty"` // who has made the change or started the import
}

// ContactDelivery is a delivery of an event to one of the webhooks.
type ContactDelivery struct {
	ID          string  `json:"id" db:"id"`
	Event       string  `json:"event" db:"event"`
	Webhook     string  `json:"webhook" db:"webhook"`
	WebhookName string  `json:"webhookName" db:"webhookName"`
	WebhookURL  string  `json:"webhookURL" db:"webhookURL"`
	Status      string  `json:"status" db:"status"`
	Attempts    int     `json:"attempts" db:"attempts"`
	NextAttempt *string `json:"nextAttempt" db:"nextAttempt"`
	LastStatus  *int    `json:"lastStatus" db:"lastStatus"`
	LastError   *string `json:"lastError" db:"lastError"`
	Created     string  `json:"created" db:"created"`
}

// HistoryOf returns the last 50 events of a contact with their deliveries, and with the people behind them if people is
// true. The error is sql.ErrNoRows if the contact does not exist.
func HistoryOf(app core.App, contactID string, people bool) (*ContactHistory, error) {
	var found struct {
		ContactName
		Tenant string `db:"tenant"`
	}
	err := app.DB().Select("id", "tenant", "NULLIF([[name]], '') AS name",
		"NULLIF([[email]], '') AS email").From("contacts").
		Where(dbx.HashExp{"id": contactID}).One(&found)
	history := &ContactHistory{Contact: found.ContactName, Events: []ContactEvent{}}
	if err == nil {
		err = app.DB().Select("id", "type", "contact", "created").From("events").
			Where(dbx.HashExp{"contact": contactID}).
			// not by the index of the tenant
			AndWhere(dbx.NewExp("+[[tenant]] = {:tenant}", dbx.Params{"tenant": found.Tenant})).
			OrderBy("rowid DESC").Limit(maxContactEvents).All(&history.Events)
	}
	if err == nil {
		err = errors.Join(history.addDeliveries(app), history.addCounts(app), history.addSources(app, people))
	}
	if err != nil {
		return nil, fmt.Errorf("reading the events of the contact %q: %w", contactID, err)
	}
	return history, nil
}

func (h *ContactHistory) addCounts(app core.App) error {
	places := map[string]*DeliveryCounts{}
	for i := range h.Events {
		places[h.Events[i].ID] = &h.Events[i].Counts
	}
	return countEventDeliveries(app, places)
}

// sourcesSQL returns the sources of the events ?1 that have one, by the ids of these. A deleted key or inbound webhook
// has the name that the audit log keeps.
const sourcesSQL = "WITH s AS (SELECT e.`id` AS `event`, e.`tenant`, " +
	"e.`payload` ->> '$.source.type' AS `type`, e.`payload` ->> '$.source.id' AS `id`, " +
	"coalesce(e.`payload` ->> '$.source.merge', 0) AS `merge` " +
	"FROM json_each(?1) j CROSS JOIN `events` e ON e.`id` = j.`value` WHERE json_valid(e.`payload`)) " +
	"SELECT s.`event`, s.`type`, coalesce(s.`id`, ''), s.`merge`, coalesce(CASE " +
	"WHEN s.`type` IN ('key', 'mcp') THEN (SELECT `name` FROM `api_keys` WHERE `id` = s.`id` AND `tenant` = s.`tenant`) " +
	"WHEN s.`type` = 'inbound' " +
	"THEN (SELECT `name` FROM `inbound_webhooks` WHERE `id` = s.`id` AND `tenant` = s.`tenant`) " +
	"WHEN s.`type` = 'import' THEN (SELECT `name` FROM `_imports` WHERE `id` = s.`id` AND `tenant` = s.`tenant`) " +
	"END, (SELECT `changes` ->> '$.name.old' FROM `audit_log` WHERE `record` = s.`id` AND `action` = 'deleted' " +
	"AND `tenant` = s.`tenant` LIMIT 1), ''), coalesce((SELECT `person` FROM `_sources` WHERE `event` = s.`event`), " +
	"(SELECT `person` FROM `_imports` WHERE s.`type` = 'import' AND `id` = s.`id` AND `tenant` = s.`tenant`), '') " +
	"FROM s WHERE s.`type` IS NOT NULL"

func (h *ContactHistory) addSources(app core.App, people bool) error {
	ids, sources := []string{}, map[string]*EventSource{}
	for _, e := range h.Events {
		ids = append(ids, e.ID)
	}
	err := sqlite.Each(sqlite.Direct(app.ConcurrentDB()), sourcesSQL, func(rows *sql.Rows) error {
		event, source := "", &EventSource{}
		err := rows.Scan(&event, &source.Type, &source.ID, &source.Merge, &source.Name, &source.Person)
		if sources[event] = source; !people {
			source.Person = ""
		}
		return err
	}, sqlite.List(ids))
	for i := range h.Events {
		h.Events[i].Source = sources[h.Events[i].ID]
	}
	return err
}

// addDeliveries adds the deliveries of the events.
func (h *ContactHistory) addDeliveries(app core.App) error {
	var ids []any
	place := map[string]int{}
	for i := range h.Events {
		h.Events[i].Created, h.Events[i].Deliveries = stamp.Show(h.Events[i].Created), []ContactDelivery{}
		ids = append(ids, h.Events[i].ID)
		place[h.Events[i].ID] = i
	}
	if ids == nil {
		return nil
	}
	var found []ContactDelivery
	err := app.DB().
		Select("d.id", "d.event", "d.webhook", "w.name AS webhookName", "w.url AS webhookURL",
			"d.status", "d.attempts", nextAttempt, lastStatus, lastError, "d.created").
		From("deliveries d").
		InnerJoin("webhooks w", dbx.NewExp("[[w.id]] = [[d.webhook]]")).
		Where(dbx.In("d.event", ids...)).
		OrderBy("d.created DESC", "d.id DESC").Limit(maxContactDeliveries).All(&found)
	if err != nil {
		return err
	}
	for _, d := range found {
		if d.NextAttempt != nil {
			d.NextAttempt = shown(*d.NextAttempt)
		}
		d.Created = stamp.Show(d.Created)
		event := &h.Events[place[d.Event]]
		event.Deliveries = append(event.Deliveries, d)
	}
	return nil
}
