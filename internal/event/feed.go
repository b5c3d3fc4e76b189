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

// The feed is the events of a tenant as webhooks get them, in the order in which they were committed, which is that of their
// rows. A place in it is the id of an event: the feed goes on behind that.

// Limits of a page of the feed.
const (
	DefaultLimit = 100
	MaxLimit     = 1_000

	maxScan  = 5_000   // events that are looked at for those of a filter
	maxBytes = 4 << 20 // of bodies, but for the one that exceeds it
)

// Oldest is the place in front of the oldest event behind which nothing is gone.
const Oldest = ""

// ErrCursorExpired means that an event behind the place is gone.
var ErrCursorExpired = fault.New(fault.CursorExpired,
	"Events behind this cursor are no longer kept; read all contacts, and go on with an empty after or without one.")

// Filter is which events are wanted. The zero value is all of them.
type Filter struct {
	Kinds   []string // nil for all
	Contact string   // its id, "" for all
	UpTo    *string  // the id of the last event that may be told of, nil for all; where it is gone, no other one may
}

func (f Filter) takes(kind, contact string) bool {
	return (f.Kinds == nil || slices.Contains(f.Kinds, kind)) && (f.Contact == "" || f.Contact == contact)
}

func (f Filter) isAll() bool { return f.Kinds == nil && f.Contact == "" }

// Sent is an event as receivers see it.
type Sent struct {
	ID   string // with IDPrefix
	Kind string
	Body []byte // the payload, byte for byte
}

// Page is events of a feed that follow each other, but for those that the filter leaves out.
type Page struct {
	Events []Sent
	Next   string // the place behind the events, and behind what the filter left out
	More   bool   // whether there may be more behind it now
}

// startSQL is the row behind which the feed of the tenant ?1 goes on at the place ?2, NULL where an event behind it is gone. A feed
// that never had an event has a place, too.
const (
	beginning = "'000000000000000'"

	keptSQL  = "coalesce((SELECT rowid FROM `events` WHERE `id` = g.`before`), 0)"
	startSQL = "(SELECT CASE WHEN ?2 IN ('', coalesce(g.`event`, " + beginning + ")) THEN " + keptSQL +
		" ELSE (SELECT rowid FROM `events` WHERE `id` = ?2 AND `tenant` = ?1 AND rowid > " + keptSQL + ") END" +
		goneSQL + ")"

	expiredSQL = "SELECT " + startSQL + " IS NULL"

	goneSQL   = " FROM (SELECT 1) LEFT JOIN `_eventsGone` g ON g.`tenant` = ?1"
	oldestSQL = "SELECT coalesce(g.`event`, " + beginning + ")" + goneSQL
)

// pageSQL and endSQL end at the event ?4 or ?2.
var (
	pageSQL = "SELECT `id`, `type`, `contact`, coalesce(`payload`, 'null') FROM `events` INDEXED BY `idx_events_feed` " +
		"WHERE `tenant` = ?1 AND rowid > " + startSQL + upTo("?4") + " AND `type` <> 'webhook.ping' ORDER BY rowid LIMIT ?3"
	endSQL = "SELECT coalesce((SELECT `id` FROM `events` INDEXED BY `idx_events_feed` WHERE `tenant` = ?1 AND rowid > " + keptSQL +
		upTo("?2") + " AND `type` <> 'webhook.ping' ORDER BY rowid DESC LIMIT 1), g.`event`, " + beginning + ")" + goneSQL
)

// upTo is the condition that a row is none behind that of the event: of all rows for NULL, of none where the event is gone.
func upTo(event string) string {
	return " AND rowid <= CASE WHEN " + event + " IS NULL THEN 9223372036854775807 ELSE coalesce((SELECT rowid FROM `events` WHERE `id` = " + event + "), 0) END"
}

// End returns the place behind all events that there are, up to the event with that id; nil for all.
func End(app core.App, tenantID string, upTo *string) (place string, err error) {
	place, err = sqlite.Value[string](sqlite.Direct(app.ConcurrentDB()), endSQL, tenantID, upTo)
	if err != nil {
		return "", fmt.Errorf("reading the feed: %w", err)
	}
	return IDPrefix + place, nil
}

// Start returns the place in front of the oldest event that is kept.
func Start(app core.App, tenantID string) (place string, err error) {
	place, err = sqlite.Value[string](sqlite.Direct(app.ConcurrentDB()), oldestSQL, tenantID)
	if err != nil {
		return "", fmt.Errorf("reading the feed: %w", err)
	}
	return IDPrefix + place, nil
}

// ReadPage returns the next events behind a place, at most limit. The error is ErrCursorExpired where one is gone, or the place
// is none of the tenant's feed.
func ReadPage(app core.App, tenantID, after string, filter Filter, limit int) (*Page, error) {
	tx := sqlite.Direct(app.ConcurrentDB())
	scan := limit + 1
	if !filter.isAll() {
		scan = maxScan
	}
	place := strings.TrimPrefix(after, IDPrefix)
	rows, err := tx.Query(pageSQL, tenantID, place, scan, filter.UpTo)
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
	expired, err := sqlite.Value[bool](tx, expiredSQL, tenantID, place)
	if err != nil {
		return nil, fmt.Errorf("reading the feed: %w", err)
	}
	if expired {
		return nil, ErrCursorExpired
	}
	page.Next = after
	if after == Oldest { // not the end: there may be events now that there were not when the page was read
		page.Next, err = Start(app, tenantID)
	}
	return page, err
}

// readPage reads events until the page is full, and returns how many it has looked at.
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
		wanted := filter.takes(kind, contact)
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
