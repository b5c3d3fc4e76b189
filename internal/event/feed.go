package event

import (
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/fault"
	"contactbase/internal/sqlite"
)

// The feed of a tenant has the events that its webhooks receive, in the order of their commits, which is the order of
// their rows. A cursor is the id of an event: the feed continues after that one.

// Limits of a page of the feed.
const (
	DefaultLimit = 100
	MaxLimit     = 1_000

	maxScan  = 5_000   // events that are read for a page of a filter
	maxBytes = 4 << 20 // size of the bodies at which a page ends
)

// Oldest is the cursor before the oldest event after which no event has been deleted.
const Oldest = ""

// Beginning is the cursor of a feed that has never had an event, without IDPrefix.
const Beginning = "000000000000000"

// ErrCursorExpired means that an event after the cursor has been deleted, or that the cursor is not from
// the tenant's feed.
var ErrCursorExpired = fault.New(fault.CursorExpired,
	"Events after this cursor have been deleted. Request the current cursor without after, "+
		"then read all contacts, then continue from that cursor.")

// Filter selects events. The zero value selects all about contacts.
type Filter struct {
	Kinds   []string // nil for all about contacts
	Contact string   // id of the contact; "" for all
	UpTo    *string  // id of the last visible event; nil for all. If that event has been deleted, none is visible.
}

func (f Filter) matches(kind, contact string) bool {
	wanted := slices.Contains(f.Kinds, kind) || f.Kinds == nil && Kind(kind).ByDefault()
	return wanted && (f.Contact == "" || f.Contact == contact)
}

// Sent is an event as receivers see it.
type Sent struct {
	ID   string // with IDPrefix
	Kind string
	Body []byte // the exact payload
}

// Page is a page of a feed.
type Page struct {
	Events []Sent
	Next   string // cursor after the last event that was read, even if the filter excludes that one
	More   bool   // whether there may already be events after Next
}

// startSQL returns the row after which the feed of the tenant ?1 continues at the cursor ?2, or NULL if a later event
// has been deleted. The cursor of a feed that has never had an event is the beginning.
const (
	beginning = "'" + Beginning + "'"

	keptSQL  = "coalesce((SELECT rowid FROM `events` WHERE `id` = g.`before`), 0)"
	startSQL = "(SELECT CASE WHEN ?2 IN ('', coalesce(g.`event`, " + beginning + ")) THEN " + keptSQL +
		" ELSE (SELECT rowid FROM `events` WHERE `id` = ?2 AND `tenant` = ?1 AND rowid > " + keptSQL + ") END" +
		goneSQL + ")"

	expiredSQL = "SELECT " + startSQL + " IS NULL"

	goneSQL   = " FROM (SELECT 1) LEFT JOIN `_eventsGone` g ON g.`tenant` = ?1"
	oldestSQL = "SELECT coalesce(g.`event`, " + beginning + ")" + goneSQL
)

// pageSQL ends at the event ?4, and endSQL at the event ?2.
var (
	pageSQL = "SELECT `id`, `type`, `contact`, coalesce(`payload`, 'null') FROM `events` INDEXED BY `idx_events_feed` " +
		"WHERE `tenant` = ?1 AND rowid > " + startSQL + upTo("?4") + " AND `type` <> 'webhook.ping' ORDER BY rowid LIMIT ?3"
	endSQL = "SELECT coalesce((SELECT `id` FROM `events` INDEXED BY `idx_events_feed` " +
		"WHERE `tenant` = ?1 AND rowid > " + keptSQL +
		upTo("?2") + " AND `type` <> 'webhook.ping' ORDER BY rowid DESC LIMIT 1), g.`event`, " + beginning + ")" + goneSQL
)

// upTo returns the condition that a row is not after the row of an event. It holds for all rows if the event is NULL,
// and for none if the event has been deleted.
func upTo(event string) string {
	return " AND rowid <= CASE WHEN " + event + " IS NULL THEN 9223372036854775807 " +
		"ELSE coalesce((SELECT rowid FROM `events` WHERE `id` = " + event + "), 0) END"
}

// End returns the cursor after the last event, or after the event with the id upTo unless that is nil.
func End(app core.App, tenantID string, upTo *string) (cursor string, err error) {
	return readCursor(app, endSQL, tenantID, upTo)
}

// Start returns the cursor before the oldest event.
func Start(app core.App, tenantID string) (cursor string, err error) {
	return readCursor(app, oldestSQL, tenantID)
}

func readCursor(app core.App, query string, args ...any) (string, error) {
	id, err := sqlite.Value[string](sqlite.Direct(app.ConcurrentDB()), query, args...)
	if err != nil {
		return "", fmt.Errorf("reading the feed: %w", err)
	}
	return IDPrefix + id, nil
}

// ReadPage returns up to limit events after a cursor. The error may be ErrCursorExpired.
func ReadPage(app core.App, tenantID, after string, filter Filter, limit int) (*Page, error) {
	tx := sqlite.Direct(app.ConcurrentDB())
	scan := limit + 1
	if filter.Kinds != nil || filter.Contact != "" {
		scan = maxScan
	}
	cursor := strings.TrimPrefix(after, IDPrefix)
	rows, err := tx.Query(pageSQL, tenantID, cursor, scan, filter.UpTo)
	if err != nil {
		return nil, fmt.Errorf("reading the feed: %w", err)
	}
	page, scanned, err := readPage(rows, filter, limit)
	if err != nil {
		return nil, fmt.Errorf("reading the feed: %w", err)
	}
	page.More = page.More || scanned == scan
	if scanned > 0 {
		return page, nil
	}
	expired, err := sqlite.Value[bool](tx, expiredSQL, tenantID, cursor)
	if err != nil {
		return nil, fmt.Errorf("reading the feed: %w", err)
	}
	if expired {
		return nil, ErrCursorExpired
	}
	page.Next = after
	if after == Oldest { // Start, not End: events may have been written since the page was read
		page.Next, err = Start(app, tenantID)
	}
	return page, err
}

// readPage reads events until the page is full, and returns how many it has scanned.
func readPage(rows *sql.Rows, filter Filter, limit int) (page *Page, scanned int, err error) {
	defer func() { err = errors.Join(err, rows.Close()) }()
	page = &Page{}
	size := 0
	var id, kind, contact string
	var body sql.RawBytes
	for rows.Next() {
		scanned++
		if err := rows.Scan(&id, &kind, &contact, &body); err != nil {
			return page, scanned, err
		}
		wanted := filter.matches(kind, contact)
		if page.More = wanted && (len(page.Events) == limit || size >= maxBytes); page.More {
			break
		}
		page.Next = IDPrefix + id
		if wanted {
			page.Events = append(page.Events, Sent{ID: page.Next, Kind: kind, Body: slices.Clone(body)})
			size += len(body)
		}
	}
	return page, scanned, rows.Err()
}
