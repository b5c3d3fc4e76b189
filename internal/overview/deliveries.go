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
	"contactbase/internal/delivery"
	"contactbase/internal/fault"
	"contactbase/internal/stamp"
)

const (
	// maxNamesakes is how many contacts with the same email address are searched for.
	maxNamesakes = 200
	// maxRead is how many deliveries are read for a page of groups.
	maxRead = 1_000
	// maxScan is how many deliveries are scanned for a page of a filter that has no index: a type, and most statuses.
	maxScan = 20_000
	// maxSorted is how many pending deliveries are sorted. If there are more, the page scans all deliveries of
	// the webhook instead.
	maxSorted = 5_000
)

// indexOf has the partial indexes of statuses. SQLite uses one only if the query contains the status as a literal.
var indexOf = map[string]string{
	delivery.StatusPending: "idx_deliveries_due",
	delivery.StatusFailed:  "idx_deliveries_failed",
}

var errCursor = fault.InvalidParameters(fault.Fields{
	"cursor": {Code: fault.CodeInvalidValue, Message: "must be a cursor from an earlier page of this list"},
})

// Query selects deliveries of a webhook, the newest first. Zero values select all.
type Query struct {
	Webhook string
	Status  string    // pending, delivered or failed
	Type    string    // of the event
	Contact string    // id or email address of the contact
	From    time.Time // when the delivery was made, inclusive
	To      time.Time // exclusive
	Cursor  string    // from Page.Next or Delivery.Cursor
	Limit   int       // in lines
	Grouped bool      // consecutive similar deliveries that are not delivered are one line

	index string    // partial index of the status; "" to scan all deliveries of the webhook
	last  *Delivery // where the scan ends; nil for the end
}

// Delivery is a line of the list.
type Delivery struct {
	ID          string  `json:"id" db:"id"`
	Event       string  `json:"event" db:"event"` // id of the record
	Type        string  `json:"type" db:"type"`
	Contact     string  `json:"contact" db:"contact"`         // "" for none
	ContactName string  `json:"contactName" db:"contactName"` // or its email address; "" if it has neither or is gone
	Status      string  `json:"status" db:"status"`
	Attempts    int     `json:"attempts" db:"attempts"`
	NextAttempt *string `json:"nextAttempt" db:"nextAttempt"`
	LastStatus  *int    `json:"lastStatus" db:"lastStatus"`
	LastError   *string `json:"lastError" db:"lastError"`
	Created     string  `json:"created" db:"created"`
	Updated     string  `json:"updated" db:"updated"`

	Count  int    `json:"count" db:"-"`  // number of deliveries in the line; this one is the newest
	Since  string `json:"since" db:"-"`  // when the oldest of them was created
	Cursor string `json:"cursor" db:"-"` // of the deliveries after this one
}

// Page is a page of the list. It may have fewer lines than the limit and not be the last.
type Page struct {
	Deliveries []Delivery `json:"data"`
	Next       *string    `json:"next"` // cursor of the next page; nil on the last one
}

// Deliveries returns a page. The error is a *fault.Error if the cursor is invalid.
func Deliveries(app core.App, q Query) (*Page, error) { return scanDeliveries(app, q, maxScan) }

// scanDeliveries is Deliveries with another limit than maxScan.
func scanDeliveries(app core.App, q Query, limit int64) (*Page, error) {
	var contacts []any
	var err error
	if q.Contact != "" {
		contacts, err = contactsOf(app, q.Webhook, q.Contact)
	} else {
		q.index, err = q.chooseIndex(app)
	}
	if err != nil {
		return nil, err
	}
	if q.last, err = q.scanEnd(app, limit); err != nil {
		return nil, err
	}
	var groups [][]Delivery
	more := true
	for next, read, limit := q, 0, q.Limit+1; more && len(groups) <= q.Limit && read < maxRead; limit = maxRead - read {
		rows, err := next.read(app, contacts, limit)
		if err != nil {
			return nil, fmt.Errorf("listing the deliveries of the webhook %q: %w", q.Webhook, err)
		}
		groups = group(groups, rows, q.Grouped)
		read += len(rows)
		if more = len(rows) == limit; more {
			next.Cursor = rows[len(rows)-1].position()
		}
	}
	return newPage(groups, q.Limit, more, q.last), nil
}

// newPage returns the page of the first groups. There may be more groups up to the end of the scan, and
// deliveries after that.
func newPage(groups [][]Delivery, limit int, more bool, end *Delivery) *Page {
	page := &Page{Deliveries: []Delivery{}}
	if len(groups) > limit {
		groups, more = groups[:limit], true
	}
	for _, of := range groups {
		if last := of[len(of)-1].position(); more {
			page.Next = &last
		}
		page.Deliveries = append(page.Deliveries, lines(of)...)
	}
	if !more && end != nil {
		next := end.position()
		page.Next = &next
	}
	return page
}

// chooseIndex returns the partial index of the status, or "" if there is none. The index of pending deliveries does
// not have the order of the list, so it is used only if there are few.
func (q Query) chooseIndex(app core.App) (string, error) {
	if q.Status != delivery.StatusPending {
		return indexOf[q.Status], nil
	}
	var pending int
	err := app.DB().NewQuery("SELECT COUNT(*) FROM " +
		"(SELECT 1 FROM {{deliveries}} WHERE [[webhook]] = {:webhook} AND [[status]] = 'pending' LIMIT {:cap})").
		Bind(dbx.Params{"webhook": q.Webhook, "cap": maxSorted + 1}).Row(&pending)
	if err != nil {
		return "", fmt.Errorf("counting the pending deliveries of the webhook %q: %w", q.Webhook, err)
	}
	if pending > maxSorted {
		return "", nil
	}
	return indexOf[q.Status], nil
}

// scanEnd returns the last delivery to scan for a filter that has no index, after so many others. It returns nil if
// there is no limit, or if there are fewer deliveries.
func (q Query) scanEnd(app core.App, limit int64) (*Delivery, error) {
	if q.Contact != "" || q.Type == "" && (q.Status == "" || q.index != "") {
		return nil, nil
	}
	query := app.DB().Select("d.id", "d.created").From(q.deliveries()).
		Where(dbx.HashExp{"d.webhook": q.Webhook}).
		OrderBy("d.created DESC", "d.id DESC").
		Limit(1).Offset(limit)
	q.Type = ""
	if q.index == "" {
		q.Status = ""
	}
	if err := q.filter(query); err != nil {
		return nil, err
	}
	var last Delivery
	err := query.One(&last)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("finding the end of a page of the webhook %q: %w", q.Webhook, err)
	}
	return &last, nil
}

// deliveries returns the table, read through the index if there is one.
func (q Query) deliveries() string {
	if q.index == "" {
		return "deliveries d"
	}
	return "{{deliveries}} d INDEXED BY [[" + q.index + "]]"
}

// contactName is the name of the contact of an event e.
const contactName = "COALESCE((SELECT COALESCE(NULLIF([[name]], ''), [[email]]) " +
	"FROM {{contacts}} WHERE [[id]] = [[e.contact]] AND [[tenant]] = [[e.tenant]]), '')"

// deliveryColumns are the columns of a Delivery.
var deliveryColumns = []string{
	"d.id", "d.event", "e.type", "e.contact", contactName + " AS contactName", "d.status",
	"d.attempts", nextAttempt, lastStatus, lastError, "d.created", "d.updated",
}

// The columns of a delivery d that are null without a value.
const (
	nextAttempt = "NULLIF([[d.nextAttempt]], '') AS nextAttempt"
	lastStatus  = "NULLIF([[d.lastStatus]], 0) AS lastStatus"
	lastError   = "NULLIF([[d.lastError]], '') AS lastError"
)

// read reads the next deliveries.
func (q Query) read(app core.App, contacts []any, limit int) (rows []Delivery, err error) {
	query := app.DB().
		Select(deliveryColumns...).
		Where(dbx.HashExp{"d.webhook": q.Webhook}).
		OrderBy("d.created DESC", "d.id DESC").
		Limit(int64(limit))
	if q.Contact == "" {
		query.From(q.deliveries()).InnerJoin("events e", dbx.NewExp("[[e.id]] = [[d.event]]"))
	} else {
		// SQLite keeps the order of a CROSS JOIN: from the few events of a contact to their deliveries
		query.From("events e").Join("CROSS JOIN", "deliveries d", dbx.NewExp("[[d.event]] = [[e.id]]"))
		query.AndWhere(dbx.In("e.contact", contacts...))
	}
	if err := q.filter(query); err != nil {
		return nil, err
	}
	err = query.All(&rows)
	return rows, err
}

// filter limits the query to the requested deliveries.
func (q Query) filter(query *dbx.SelectQuery) error {
	if q.index != "" {
		query.AndWhere(dbx.NewExp("[[d.status]] = '" + q.Status + "'"))
	} else if q.Status != "" {
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
	if q.last != nil {
		query.AndWhere(dbx.NewExp(
			"[[d.created]] >= {:lastCreated} AND ([[d.created]], [[d.id]]) >= ({:lastCreated}, {:lastID})",
			dbx.Params{"lastCreated": q.last.Created, "lastID": q.last.ID},
		))
	}
	if q.Cursor != "" {
		created, id, err := parseCursor(q.Cursor)
		if err != nil {
			return err
		}
		query.AndWhere(dbx.NewExp(
			// the index serves the first condition
			"[[d.created]] <= {:created} AND ([[d.created]], [[d.id]]) < ({:created}, {:id})",
			dbx.Params{"created": created, "id": id},
		))
	}
	return nil
}

// contactsOf returns the ids that a text may mean: itself, and if it is an email address, those of the tenant's
// contacts that have it. A deleted contact is found only by its id.
func contactsOf(app core.App, webhook, text string) ([]any, error) {
	ids := []any{text}
	if !strings.Contains(text, "@") {
		return ids, nil
	}
	var tenant string
	err := app.DB().Select("tenant").From("webhooks").Where(dbx.HashExp{"id": webhook}).Row(&tenant)
	if errors.Is(err, sql.ErrNoRows) {
		return ids, nil // an unknown webhook has no deliveries
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
