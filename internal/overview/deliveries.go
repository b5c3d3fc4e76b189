package overview

import (
	"database/sql"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact"
	"contactbase/internal/fault"
	"contactbase/internal/stamp"
)

// maxNamesakes is how many contacts with one e-mail address are looked at.
const maxNamesakes = 200

var errCursor = fault.InvalidParameters(fault.Fields{"cursor": {Code: fault.CodeInvalidValue, Message: "must be one that this list answered"}})

// Query selects deliveries of a webhook, the newest first. Zero values select all.
type Query struct {
	Webhook string
	Status  string    // pending, delivered or failed
	Type    string    // of the event
	Contact string    // id or e-mail address of the contact
	From    time.Time // when the delivery was made, inclusive
	To      time.Time // exclusive
	Cursor  string    // from Page.Next
	Limit   int
}

// Delivery is a line of the list.
type Delivery struct {
	ID          string  `json:"id" db:"id"`
	Event       string  `json:"event" db:"event"` // the record's id
	Type        string  `json:"type" db:"type"`
	Contact     string  `json:"contact" db:"contact"` // "" where the event is about none
	Status      string  `json:"status" db:"status"`
	Attempts    int     `json:"attempts" db:"attempts"`
	NextAttempt *string `json:"nextAttempt" db:"nextAttempt"`
	LastStatus  *int    `json:"lastStatus" db:"lastStatus"`
	LastError   *string `json:"lastError" db:"lastError"`
	Created     string  `json:"created" db:"created"`
	Updated     string  `json:"updated" db:"updated"`
}

// Page is a part of the list.
type Page struct {
	Deliveries []Delivery `json:"data"`
	Next       *string    `json:"next"` // cursor of the next page; nil on the last one
}

// Deliveries returns a page. The error is a *fault.Error where the cursor is not one of ours.
func Deliveries(app core.App, q Query) (*Page, error) {
	query := app.DB().
		Select("d.id", "d.event", "e.type", "e.contact", "d.status", "d.attempts", "d.nextAttempt", "d.lastStatus", "d.lastError", "d.created", "d.updated").
		Where(dbx.HashExp{"d.webhook": q.Webhook}).
		OrderBy("d.created DESC", "d.id DESC").
		Limit(int64(q.Limit) + 1)
	if q.Contact == "" {
		query.From("deliveries d").InnerJoin("events e", dbx.NewExp("[[e.id]] = [[d.event]]"))
	} else {
		// from the few events of a contact to their deliveries: CROSS JOIN keeps SQLite to this order
		query.From("events e").Join("CROSS JOIN", "deliveries d", dbx.NewExp("[[d.event]] = [[e.id]]"))
		contacts, err := contactsOf(app, q.Webhook, q.Contact)
		if err != nil {
			return nil, err
		}
		query.AndWhere(dbx.In("e.contact", contacts...))
	}
	if err := q.narrow(query); err != nil {
		return nil, err
	}
	page := &Page{Deliveries: []Delivery{}}
	if err := query.All(&page.Deliveries); err != nil {
		return nil, fmt.Errorf("listing the deliveries of the webhook %q: %w", q.Webhook, err)
	}
	if len(page.Deliveries) > q.Limit {
		page.Deliveries = page.Deliveries[:q.Limit]
		last := page.Deliveries[q.Limit-1]
		next := cursor(last.Created, last.ID)
		page.Next = &next
	}
	for i := range page.Deliveries {
		page.Deliveries[i].toWire()
	}
	return page, nil
}

// narrow leaves those deliveries in the query that are asked for.
func (q Query) narrow(query *dbx.SelectQuery) error {
	if q.Status != "" {
		query.AndWhere(dbx.HashExp{"d.status": q.Status})
	}
	if q.Type != "" {
		query.AndWhere(dbx.HashExp{"e.type": q.Type})
	}
	if !q.From.IsZero() {
		query.AndWhere(dbx.NewExp("[[d.created]] >= {:from}", dbx.Params{"from": stamp.Stored(q.From)}))
	}
	if !q.To.IsZero() {
		query.AndWhere(dbx.NewExp("[[d.created]] < {:to}", dbx.Params{"to": stamp.Stored(q.To)}))
	}
	if q.Cursor != "" {
		created, id, err := parseCursor(q.Cursor)
		if err != nil {
			return err
		}
		query.AndWhere(dbx.NewExp(
			"[[d.created]] <= {:created} AND ([[d.created]], [[d.id]]) < ({:created}, {:id})", // the first half is what the index can use
			dbx.Params{"created": created, "id": id},
		))
	}
	return nil
}

// toWire turns what the table holds into what the API writes: no empty values, times of RFC 3339.
func (d *Delivery) toWire() {
	d.Created, d.Updated = strings.Replace(d.Created, " ", "T", 1), strings.Replace(d.Updated, " ", "T", 1)
	if d.NextAttempt != nil {
		d.NextAttempt = shown(*d.NextAttempt)
	}
	if d.LastStatus != nil && *d.LastStatus == 0 {
		d.LastStatus = nil
	}
	if d.LastError != nil && *d.LastError == "" {
		d.LastError = nil
	}
}

// contactsOf returns the ids that the text may mean: itself, and where it is an address, the tenant's contacts that
// have it. A contact that is gone is found by its id only.
func contactsOf(app core.App, webhook, text string) ([]any, error) {
	ids := []any{text}
	if !strings.Contains(text, "@") {
		return ids, nil
	}
	var tenant string
	err := app.DB().Select("tenant").From("webhooks").Where(dbx.HashExp{"id": webhook}).Row(&tenant)
	if errors.Is(err, sql.ErrNoRows) {
		return ids, nil // of which an unknown webhook has no deliveries
	}
	if err != nil {
		return nil, fmt.Errorf("reading the tenant of the webhook %q: %w", webhook, err)
	}
	namesakes, err := contact.FindAllByEmail(app, tenant, text, maxNamesakes)
	if err != nil {
		return nil, err
	}
	for _, namesake := range namesakes {
		ids = append(ids, namesake.ID)
	}
	return ids, nil
}

func cursor(created, id string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(created + "|" + id))
}

func parseCursor(text string) (created, id string, err error) {
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return "", "", errCursor
	}
	created, id, found := strings.Cut(string(raw), "|")
	if !found {
		return "", "", errCursor
	}
	return created, id, nil
}
