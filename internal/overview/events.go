package overview

import (
	"cmp"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/delivery"
	"contactbase/internal/event"
	"contactbase/internal/sqlite"
	"contactbase/internal/stamp"
)

// maxScannedEvents is how many events are read for a page of a filter.
const maxScannedEvents = 5_000

// EventsQuery selects events, the newest first. Zero values select all.
type EventsQuery struct {
	Tenant  string
	Type    string
	Contact string // its id
	ID      string // as receivers see it, or that of the record
	Since   time.Time
	Before  string // the id of an event; only older ones follow
	Limit   int
}

// EventLine is a line of the list of events.
type EventLine struct {
	ID          string         `json:"id"` // as receivers see it
	Type        string         `json:"type"`
	Contact     string         `json:"contact"`               // "" for none
	ContactName string         `json:"contactName,omitempty"` // as it is now, or its address; "" without both
	Tenant      string         `json:"tenant,omitempty"`      // its id, if the query selects no tenant
	CreatedAt   string         `json:"createdAt"`
	Deliveries  DeliveryCounts `json:"deliveries"`
}

// DeliveryCounts has the number of deliveries in each state.
type DeliveryCounts struct {
	Pending   int `json:"pending"`
	Delivered int `json:"delivered"`
	Failed    int `json:"failed"`
}

// EventsPage is a page of the list. It may have fewer lines than the limit and not be the last.
type EventsPage struct {
	Events     []EventLine `json:"data"`
	HasMore    bool        `json:"hasMore"`
	NextBefore string      `json:"nextBefore,omitempty"` // the last event that was read
}

// The events up to the row ?2, the newest first, at most ?3: that with an id, of a contact, of a tenant, and all.
const (
	eventsSQL          = "SELECT `id`, `tenant`, `type`, `contact`, `created` FROM `events` "
	eventsOrder        = " AND rowid <= ?2 ORDER BY rowid DESC LIMIT ?3"
	eventByIDSQL       = eventsSQL + "WHERE `id` = ?1" + eventsOrder
	eventsOfContactSQL = eventsSQL + "INDEXED BY `idx_events_contact` WHERE `contact` = ?1" + eventsOrder
	eventsOfTenantSQL  = eventsSQL + "INDEXED BY `idx_events_feed` WHERE `tenant` = ?1" + eventsOrder
	allEventsSQL       = eventsSQL + "WHERE ?1 = ''" + eventsOrder

	eventRowSQL            = "SELECT coalesce((SELECT rowid FROM `events` WHERE `id` = ?), 0)"
	countEventDeliveredSQL = "SELECT `event`, `status`, count(*) FROM `deliveries` " +
		"WHERE `event` IN (SELECT value FROM json_each(?)) GROUP BY `event`, `status`"
)

// statement returns the query that reads the events, and what they have in common.
func (q EventsQuery) statement() (text, of string) {
	switch {
	case q.ID != "":
		return eventByIDSQL, recordID(q.ID)
	case q.Contact != "":
		return eventsOfContactSQL, q.Contact
	case q.Tenant != "":
		return eventsOfTenantSQL, q.Tenant
	default:
		return allEventsSQL, ""
	}
}

// recordID returns the id of the record of an event, whose id may be the one that receivers see.
func recordID(id string) string { return strings.TrimPrefix(id, event.IDPrefix) }

// selects reports whether the query selects an event of the tenant, created at that stored time.
func (q EventsQuery) selects(line *EventLine, tenantID, created string) bool {
	return (q.Tenant == "" || tenantID == q.Tenant) && (q.Type == "" || line.Type == q.Type) &&
		(q.Contact == "" || line.Contact == q.Contact) && created >= stamp.Stored(q.Since)
}

// Events returns a page of events.
func Events(app core.App, q EventsQuery) (*EventsPage, error) {
	page, err := readEvents(app, q)
	if err == nil {
		places := map[string]*DeliveryCounts{}
		for i := range page.Events {
			places[recordID(page.Events[i].ID)] = &page.Events[i].Deliveries
		}
		err = errors.Join(countEventDeliveries(app, places), nameContacts(app, q.Tenant, page.Events))
	}
	if err != nil {
		return nil, fmt.Errorf("listing events: %w", err)
	}
	return page, nil
}

func readEvents(app core.App, q EventsQuery) (page *EventsPage, err error) {
	db, last := sqlite.Direct(app.ConcurrentDB()), int64(math.MaxInt64)
	if q.Before != "" {
		if last, err = sqlite.Value[int64](db, eventRowSQL, recordID(q.Before)); err != nil {
			return nil, err
		}
		last--
	}
	text, of := q.statement()
	rows, err := db.Query(text, of, last, maxScannedEvents)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	page = &EventsPage{Events: []EventLine{}}
	scanned, end := 0, ""
	for ; rows.Next(); scanned++ {
		var line EventLine
		var tenantID, created string
		if err := rows.Scan(&line.ID, &tenantID, &line.Type, &line.Contact, &created); err != nil {
			return nil, err
		}
		wanted := q.selects(&line, tenantID, created)
		if page.HasMore = wanted && len(page.Events) == q.Limit; page.HasMore {
			break
		}
		line.ID, line.CreatedAt = event.IDPrefix+line.ID, stamp.Show(created)
		if q.Tenant == "" {
			line.Tenant = tenantID
		}
		end = line.ID
		if wanted {
			page.Events = append(page.Events, line)
		}
	}
	if page.HasMore = page.HasMore || scanned == maxScannedEvents; page.HasMore {
		page.NextBefore = end
	}
	return page, rows.Err()
}

// namesSQL reads the names of contacts, by their ids and tenants.
const namesSQL = "SELECT c.`id`, coalesce(nullif(c.`name`, ''), c.`email`) FROM json_each(?) j " +
	"CROSS JOIN `contacts` c ON c.`id` = j.`value` ->> 0 AND c.`tenant` = j.`value` ->> 1"

// nameContacts adds the names of the contacts of events, which are of the tenant, or else of their own ones.
func nameContacts(app core.App, tenantID string, lines []EventLine) error {
	contacts := make([][2]string, len(lines))
	for i, line := range lines {
		contacts[i] = [2]string{line.Contact, cmp.Or(tenantID, line.Tenant)}
	}
	encoded, err := json.Marshal(contacts)
	if err != nil {
		return err
	}
	names := map[string]string{}
	err = sqlite.Each(sqlite.Direct(app.ConcurrentDB()), namesSQL, func(rows *sql.Rows) error {
		var id, name string
		err := rows.Scan(&id, &name)
		names[id] = name
		return err
	}, string(encoded))
	for i := range lines {
		lines[i].ContactName = names[lines[i].Contact]
	}
	return err
}

// countEventDeliveries counts the deliveries of events, by the ids of their records.
func countEventDeliveries(app core.App, places map[string]*DeliveryCounts) error {
	return sqlite.Each(sqlite.Direct(app.ConcurrentDB()), countEventDeliveredSQL, func(rows *sql.Rows) error {
		var id, status string
		var n int
		if err := rows.Scan(&id, &status, &n); err != nil {
			return err
		}
		switch status {
		case delivery.StatusPending:
			places[id].Pending = n
		case delivery.StatusDelivered:
			places[id].Delivered = n
		default:
			places[id].Failed = n
		}
		return nil
	}, sqlite.List(slices.Collect(maps.Keys(places))))
}

// EventDetails is an event with its payload and what became of it at each webhook.
type EventDetails struct {
	EventLine
	Payload    json.RawMessage   `json:"payload"`    // as receivers see it; null if it was erased
	Recipients []ContactDelivery `json:"recipients"` // the first 500
}

// EventOf returns an event of a tenant, or of any if that is "". The error is sql.ErrNoRows if there is none.
func EventOf(app core.App, tenantID, id string) (*EventDetails, error) {
	page, err := Events(app, EventsQuery{Tenant: tenantID, ID: id, Limit: 1})
	if err != nil {
		return nil, err
	}
	if len(page.Events) == 0 {
		return nil, sql.ErrNoRows
	}
	details := &EventDetails{EventLine: page.Events[0]}
	history := ContactHistory{Events: []ContactEvent{{ID: recordID(id)}}}
	payload, err := sqlite.Value[string](sqlite.Direct(app.ConcurrentDB()),
		"SELECT coalesce(`payload`, 'null') FROM `events` WHERE `id` = ?", recordID(id))
	if err == nil {
		err = history.addDeliveries(app)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the event %q: %w", id, err)
	}
	details.Payload, details.Recipients = json.RawMessage(payload), history.Events[0].Deliveries
	return details, nil
}
