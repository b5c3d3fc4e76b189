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
	// maxNamesakes is how many contacts with one e-mail address are looked at.
	maxNamesakes = 200
	// maxLooked is how many deliveries are looked at for a page of groups.
	maxLooked = 1_000
	// maxOthers is among how many deliveries those are looked for that no index knows: of a type, and of most statuses.
	maxOthers = 20_000
	// fewPending is up to how many deliveries that wait are sorted, instead of looked for among all.
	fewPending = 5_000
)

// indexOf is the index that has nothing but the deliveries of a status. SQLite takes it where the statement has the status itself.
var indexOf = map[string]string{
	delivery.StatusPending: "idx_deliveries_due",
	delivery.StatusFailed:  "idx_deliveries_failed",
}

var errCursor = fault.InvalidParameters(fault.Fields{"cursor": {Code: fault.CodeInvalidValue, Message: "must be one that this list answered"}})

// Query selects deliveries of a webhook, the newest first. Zero values select all.
type Query struct {
	Webhook string
	Status  string    // pending, delivered or failed
	Type    string    // of the event
	Contact string    // id or e-mail address of the contact
	From    time.Time // when the delivery was made, inclusive
	To      time.Time // exclusive
	Cursor  string    // from Page.Next or Delivery.Cursor
	Limit   int       // lines
	Grouped bool      // equal ones in a row that are not delivered are one line

	index string    // that the deliveries of the status are read through; "" where they are looked for among all
	last  *Delivery // the one at which looking ends; nil for the end
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

	// how many in a row the line is about, this one, the newest, included; when the oldest of them was made; and the cursor of
	// those that follow this one
	Count  int    `json:"count" db:"-"`
	Since  string `json:"since" db:"-"`
	Cursor string `json:"cursor" db:"-"`
}

// Page is a part of the list. It may have fewer lines than were asked for, and still be followed by another.
type Page struct {
	Deliveries []Delivery `json:"data"`
	Next       *string    `json:"next"` // cursor of the next page; nil on the last one
}

// Deliveries returns a page. The error is a *fault.Error where the cursor is not one of ours.
func Deliveries(app core.App, q Query) (*Page, error) {
	return deliveriesAmong(app, q, maxOthers)
}

// deliveriesAmong returns a page, of those that no index knows with the ones that are among so many.
func deliveriesAmong(app core.App, q Query, among int64) (*Page, error) {
	var contacts []any
	var err error
	if q.Contact != "" {
		contacts, err = contactsOf(app, q.Webhook, q.Contact)
	} else {
		q.index, err = q.through(app)
	}
	if err != nil {
		return nil, err
	}
	floor, err := q.floor(app, among)
	if err != nil {
		return nil, err
	}
	q.last = floor
	var groups [][]Delivery
	more := true
	for next, looked, limit := q, 0, q.Limit+1; more && len(groups) <= q.Limit && looked < maxLooked; limit = maxLooked - looked {
		rows, err := next.read(app, contacts, limit)
		if err != nil {
			return nil, fmt.Errorf("listing the deliveries of the webhook %q: %w", q.Webhook, err)
		}
		groups = group(groups, rows, q.Grouped)
		looked += len(rows)
		if more = len(rows) == limit; more {
			next.Cursor = rows[len(rows)-1].position()
		}
	}
	return newPage(groups, q.Limit, more, floor), nil
}

// newPage returns the page of the first groups, behind which there may be more up to the floor, and behind that.
func newPage(groups [][]Delivery, limit int, more bool, floor *Delivery) *Page {
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
	if !more && floor != nil {
		next := floor.position()
		page.Next = &next
	}
	return page
}

// through returns the index that has the deliveries of the status alone, "" where there is none, or too many of them wait: that
// one is not in the order of the list.
func (q Query) through(app core.App) (string, error) {
	if q.Status != delivery.StatusPending {
		return indexOf[q.Status], nil
	}
	var pending int
	err := app.DB().NewQuery("SELECT COUNT(*) FROM (SELECT 1 FROM {{deliveries}} WHERE [[webhook]] = {:webhook} AND [[status]] = 'pending' LIMIT {:cap})").
		Bind(dbx.Params{"webhook": q.Webhook, "cap": fewPending + 1}).Row(&pending)
	if err != nil {
		return "", fmt.Errorf("counting what waits for the webhook %q: %w", q.Webhook, err)
	}
	if pending > fewPending {
		return "", nil
	}
	return indexOf[q.Status], nil
}

// floor returns the last delivery that is looked at for those that no index knows, behind so many others; nil where all are.
func (q Query) floor(app core.App, among int64) (*Delivery, error) {
	if q.Contact != "" || q.Type == "" && (q.Status == "" || q.index != "") {
		return nil, nil
	}
	query := app.DB().Select("d.id", "d.created").From(q.deliveries()).
		Where(dbx.HashExp{"d.webhook": q.Webhook}).
		OrderBy("d.created DESC", "d.id DESC").
		Limit(1).Offset(among)
	q.Type = ""
	if q.index == "" {
		q.Status = ""
	}
	if err := q.narrow(query); err != nil {
		return nil, err
	}
	var last Delivery
	err := query.One(&last)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("looking among the deliveries of the webhook %q: %w", q.Webhook, err)
	}
	return &last, nil
}

// deliveries is the table, through the index.
func (q Query) deliveries() string {
	if q.index == "" {
		return "deliveries d"
	}
	return "{{deliveries}} d INDEXED BY [[" + q.index + "]]"
}

// read reads the next deliveries.
func (q Query) read(app core.App, contacts []any, limit int) (rows []Delivery, err error) {
	query := app.DB().
		Select("d.id", "d.event", "e.type", "e.contact", "d.status", "d.attempts", "d.nextAttempt", "d.lastStatus", "d.lastError", "d.created", "d.updated").
		Where(dbx.HashExp{"d.webhook": q.Webhook}).
		OrderBy("d.created DESC", "d.id DESC").
		Limit(int64(limit))
	if q.Contact == "" {
		query.From(q.deliveries()).InnerJoin("events e", dbx.NewExp("[[e.id]] = [[d.event]]"))
	} else {
		// from the few events of a contact to their deliveries: CROSS JOIN keeps SQLite to this order
		query.From("events e").Join("CROSS JOIN", "deliveries d", dbx.NewExp("[[d.event]] = [[e.id]]"))
		query.AndWhere(dbx.In("e.contact", contacts...))
	}
	if err := q.narrow(query); err != nil {
		return nil, err
	}
	return rows, query.All(&rows)
}

// narrow limits the query to the requested deliveries.
func (q Query) narrow(query *dbx.SelectQuery) error {
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
			"[[d.created]] <= {:created} AND ([[d.created]], [[d.id]]) < ({:created}, {:id})", // the first half is what the index can use
			dbx.Params{"created": created, "id": id},
		))
	}
	return nil
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
