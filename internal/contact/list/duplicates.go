package list

import (
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact"
	"contactbase/internal/fault"
	"contactbase/internal/sqlite"
	"contactbase/internal/wire"
)

const (
	defaultGroups = 20
	maxGroups     = 100
)

// comparison is how contacts are compared: by rows r in the order of an index. Contacts whose key is empty are not.
type comparison struct {
	index    string // the rows r, through the index
	member   string // number of a row, by which the oldest comes first
	contacts string // the contacts c of rows whose numbers are j.value
	key      string
	second   string // is compared too; it may be empty
	group    string // the key and, unless it is constant, the second value
	scanned  int    // how many contacts a page reads at most, apart from those that share its last key
}

var comparisons = map[string]comparison{
	"email": {
		index: "`_contactSearch` r INDEXED BY `idx__contactSearch_email`", member: "r.`seq`",
		contacts: "`_contactSearch` r ON r.`seq` = j.`value` CROSS JOIN `contacts` c ON c.`id` = r.`contact`",
		key:      "r.`email`", second: "''", group: "r.`email`", scanned: 100_000,
	},
	"phone": {
		index: "`contacts` r INDEXED BY `idx_contacts_phone`", member: "r.rowid",
		contacts: "`contacts` c ON c.rowid = j.`value`",
		key:      "r.`phone`", second: "''", group: "r.`phone`", scanned: 100_000,
	},
	"name": {
		index: "`contacts` r INDEXED BY `idx_contacts_name`", member: "r.rowid",
		contacts: "`contacts` c ON c.rowid = j.`value`",
		key:      "r.`name` COLLATE NOCASE", second: "r.`company` COLLATE NOCASE", group: "r.`name` COLLATE NOCASE, r.`company` COLLATE NOCASE",
		scanned: 20_000, // whose rows are read for the company
	},
}

// The queries of a comparison. In the order of the key, ?2 is the last key that was read. If it was not read to its end, ?3 is the last of its
// second values, and otherwise NULL.
func (c comparison) endSQL() string {
	return "SELECT " + c.key + " FROM " + c.index + " WHERE r.`tenant` = ?1 AND " + c.key + " != '' AND " + c.key + " >= ?2 AND (" + c.key + " > ?2 OR ?3 IS NOT NULL)" +
		" ORDER BY " + c.key + " LIMIT 1 OFFSET ?4"
}

// groupsSQL selects the oldest members of groups, each group with its size, up to the key ?4, or to the last one if that is NULL: a blob is greater
// than any text.
func (c comparison) groupsSQL() string {
	return "SELECT `key`, `second`, `size`, `nth`, `member` FROM (" +
		"SELECT " + c.key + " AS `key`, " + c.second + " AS `second`, " + c.member + " AS `member`, count(*) OVER (PARTITION BY " + c.group + ") AS `size`," +
		" row_number() OVER (PARTITION BY " + c.group + " ORDER BY " + c.member + ") AS `nth` FROM " + c.index +
		" WHERE r.`tenant` = ?1 AND " + c.key + " != '' AND " + c.key + " >= ?2 AND (" + c.key + " > ?2 OR " + c.second + " > ?3) AND " + c.key + " <= coalesce(?4, x'')" +
		") WHERE `size` > 1 AND `nth` <= ?5 ORDER BY `key`, `second`, `nth` LIMIT ?5 * ?6"
}

func (c comparison) contactsSQL(columns string) string {
	return "SELECT " + columns + " FROM json_each(?2) j CROSS JOIN " + c.contacts + " WHERE c.`tenant` = ?1 ORDER BY j.`key`"
}

// DuplicatesQuery is a checked request for a page of groups of duplicates.
type DuplicatesQuery struct {
	compare comparison
	after   groupCursor
	limit   int
}

// groupCursor is a position in the groups of a comparison: after the key, or after the second value of it.
type groupCursor struct {
	By     string  `json:"b"`
	Key    string  `json:"k"`
	Second *string `json:"s,omitempty"`
}

// Group is contacts that may be the same person or company.
type Group struct {
	Value    string             `json:"value"`    // that they share, by which they are compared
	Company  string             `json:"company"`  // that they share; "" for none, or if it is not compared
	Count    int                `json:"count"`    // of all contacts in the group
	Contacts []*contact.Contact `json:"contacts"` // the oldest, as many as can be merged at once
}

// Groups is a page of groups. It may be empty although there are more.
type Groups struct {
	Groups []Group `json:"data"`
	Next   *string `json:"next"` // the cursor of the next page, nil on the last one
}

// ParseDuplicatesQuery checks the query parameters by, cursor and limit. The error is a fault that names the invalid ones.
func ParseDuplicatesQuery(values url.Values) (q DuplicatesQuery, _ error) {
	faults := fault.Fields{}
	by, known := values.Get("by"), false
	if q.compare, known = comparisons[by]; !known {
		faults["by"] = fault.Field{Code: fault.CodeInvalidValue, Message: "must be email, phone or name"}
	}
	q.after.By, q.limit = by, defaultGroups
	if text := values.Get("cursor"); text != "" {
		decoded, err := base64.RawURLEncoding.DecodeString(text)
		if err != nil || json.Unmarshal(decoded, &q.after) != nil || q.after.By != by {
			faults["cursor"] = fault.Field{Code: fault.CodeInvalidValue, Message: "must be next of an earlier response with the same by"}
		}
	}
	if text := values.Get("limit"); text != "" {
		limit, invalid := wire.Integer(text, 1)
		if invalid != nil {
			faults["limit"] = *invalid
		}
		q.limit = min(limit, maxGroups)
	}
	if len(faults) > 0 {
		return q, fault.InvalidParameters(faults)
	}
	return q, nil
}

// Duplicates returns a page of the groups of a tenant's contacts that have the same email address, the same phone number, or the same name and
// company.
func Duplicates(app core.App, tenantID string, q DuplicatesQuery) (*Groups, error) {
	tx := sqlite.Direct(app.ConcurrentDB())
	ends, err := sqlite.Values[*string](tx, q.compare.endSQL(), tenantID, q.after.Key, q.after.Second, q.compare.scanned)
	if err != nil {
		return nil, fmt.Errorf("looking for duplicates: %w", err)
	}
	var end *string
	if len(ends) > 0 {
		end = ends[0]
	}
	page, members, err := q.groups(tx, tenantID, end)
	if err != nil {
		return nil, fmt.Errorf("looking for duplicates: %w", err)
	}
	for i := range page.Groups {
		page.Groups[i].Contacts, err = contact.Select(app, func(columns string) (string, []any) {
			return q.compare.contactsSQL(columns), []any{tenantID, sqlite.List(members[i])}
		})
		if err != nil {
			return nil, err
		}
	}
	return page, page.setNext(q, end)
}

// groups returns the groups of a page up to the key end, without their contacts, and the oldest members of each.
func (q DuplicatesQuery) groups(tx sqlite.Reader, tenantID string, end *string) (page *Groups, members [][]int64, err error) {
	page = &Groups{Groups: []Group{}}
	err = sqlite.Each(tx, q.compare.groupsSQL(), func(rows *sql.Rows) error {
		var g Group
		var nth, member int64
		if err := rows.Scan(&g.Value, &g.Company, &g.Count, &nth, &member); err != nil {
			return err
		}
		if nth == 1 {
			page.Groups, members = append(page.Groups, g), append(members, nil)
		}
		members[len(members)-1] = append(members[len(members)-1], member)
		return nil
	}, tenantID, q.after.Key, q.after.Second, end, contact.MaxMerged+1, q.limit)
	if len(page.Groups) > q.limit {
		page.Groups = page.Groups[:q.limit]
	}
	return page, members, err
}

// setNext sets the cursor of the page after one that was read up to the key end, nil for the last key.
func (p *Groups) setNext(q DuplicatesQuery, end *string) error {
	next := q.after
	switch n := len(p.Groups); {
	case n == q.limit:
		next.Key, next.Second = p.Groups[n-1].Value, &p.Groups[n-1].Company
	case end != nil:
		next.Key, next.Second = *end, nil
	default:
		return nil
	}
	encoded, err := json.Marshal(next)
	if err != nil {
		return err
	}
	text := base64.RawURLEncoding.EncodeToString(encoded)
	p.Next = &text
	return nil
}
