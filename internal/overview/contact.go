package overview

import (
	"fmt"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"

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
	Deliveries []ContactDelivery `json:"deliveries" db:"-"`
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

// HistoryOf returns the last 50 events of a contact with their deliveries. The error is sql.ErrNoRows if the
// contact does not exist.
func HistoryOf(app core.App, contactID string) (*ContactHistory, error) {
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
		err = history.addDeliveries(app)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the events of the contact %q: %w", contactID, err)
	}
	return history, nil
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
