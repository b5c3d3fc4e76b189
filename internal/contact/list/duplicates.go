package list

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact"
	"contactbase/internal/contact/search"
	"contactbase/internal/fault"
	"contactbase/internal/sqlite"
	"contactbase/internal/wire"
)

const (
	defaultGroups = 20
	maxGroups     = 100

	// maxSearchedTenants is how many tenants a page of AllDuplicates searches.
	maxSearchedTenants = 500
)

// comparison is how contacts are compared: by rows r in the order of an index. Contacts whose key is empty are not.
type comparison struct {
	index    string // the rows r, through the index
	key      string // by which the index orders them
	from     string // the condition that a row has the key ?2 of a group, or a later one
	behind   string // the condition that it has a later one
	second   string // is compared too; it may be empty
	age      string // by which the oldest comes first; the number of the row decides between equals
	member   string // number of a row
	contacts string // the contacts c of rows whose numbers are j.value
}

var comparisons = map[string]comparison{
	"email": {
		index: "`_contactSearch` r INDEXED BY `idx__contactSearch_email`",
		key:   "r.`email`", from: "r.`email` >= ?2 AND r.`email` != ''", behind: "r.`email` > ?2",
		second: "''", age: "''", member: "r.`seq`",
		contacts: "`_contactSearch` r ON r.`seq` = j.`value` CROSS JOIN `contacts` c ON c.`id` = r.`contact`",
	},
	"phone": {
		index: "`contacts` r INDEXED BY `idx_contacts_phone`", key: "r.`phone`",
		from: "r.`phone` >= ?2 AND r.`phone` != ''", behind: "r.`phone` > ?2",
		second: "''", age: "r.`created` || r.`id`", member: "r.rowid",
		contacts: "`contacts` c ON c.rowid = j.`value`",
	},
	"name": { // the key of a group is the first part of a NameKey, and that of contacts without a name is empty
		index: "`_contactSearch` r INDEXED BY `idx__contactSearch_name` CROSS JOIN `contacts` c ON c.`id` = r.`contact`",
		key:   "r.`name`", from: "r.`name` >= ?2 || char(1)", behind: "r.`name` >= ?2 || char(2)",
		second: "c.`company`", age: "c.`created` || c.`id`", member: "r.`seq`",
		contacts: "`_contactSearch` r ON r.`seq` = j.`value` CROSS JOIN `contacts` c ON c.`id` = r.`contact`",
	},
}

// earlierNames compares names until the search rows of an earlier version are folded. No index has their order.
var earlierNames = comparison{
	index: "`contacts` r", key: "r.`name` COLLATE NOCASE",
	from: "r.`name` COLLATE NOCASE >= ?2 AND r.`name` != ''", behind: "r.`name` COLLATE NOCASE > ?2",
	second: "r.`company`", age: "r.`created` || r.`id`",
	member: "r.rowid", contacts: "`contacts` c ON c.rowid = j.`value`",
}

// rowsSQL selects the rows in the order of the index, those with the key ?2 only after the second value ?3, none of
// them if that is NULL. SQLite sorts nothing, so that a page takes as long as the rows that it reads.
func (c comparison) rowsSQL() string {
	return "SELECT " + c.key + ", " + c.second + ", " + c.age + ", " + c.member + " FROM " + c.index +
		" WHERE r.`tenant` = ?1 AND " + c.from + " AND (" + c.behind + " OR " + c.second + " COLLATE NOCASE > ?3)" +
		" ORDER BY " + c.key
}

func (c comparison) contactsSQL(columns string) string {
	return "SELECT " + columns + " FROM json_each(?2) j CROSS JOIN " + c.contacts +
		" WHERE c.`tenant` = ?1 ORDER BY j.`key`"
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
	Tenant string  `json:"t,omitempty"` // only of AllDuplicates
	Key    string  `json:"k"`
	Second *string `json:"s,omitempty"`
}

// Group is contacts that may be the same person or company.
type Group struct {
	Tenant   string             `json:"tenant,omitempty"` // only of AllDuplicates
	Value    string             `json:"value"`            // that they share, by which they are compared
	Company  string             `json:"company"`          // that they share; "" for none, or if it is not compared
	Count    int                `json:"count"`            // of all contacts in the group
	Contacts []*contact.Contact `json:"contacts"`         // the oldest, as many as can be merged at once
}

// Groups is a page of groups. It may be empty although there are more.
type Groups struct {
	Groups []Group `json:"data"`
	Next   *string `json:"next"` // the cursor of the next page, nil on the last one
}

// ParseDuplicatesQuery checks the query parameters by, cursor and limit. The error is a fault that names
// the invalid ones.
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
			faults["cursor"] = fault.Field{
				Code: fault.CodeInvalidValue, Message: "must be next of an earlier response with the same by",
			}
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

// Duplicates returns a page of the groups of a tenant's contacts that have the same email address, the same phone
// number, or the same name and company.
func Duplicates(app core.App, tenantID string, q DuplicatesQuery) (*Groups, error) {
	if err := q.chooseNames(app); err != nil {
		return nil, err
	}
	s := newScan(q)
	groups, err := s.groupsOf(app, tenantID)
	if err != nil {
		return nil, err
	}
	page := &Groups{Groups: groups}
	return page, page.setNext(s.next)
}

// AllDuplicates is Duplicates for all tenants, one after another in the order of their ids. A page reads as many
// contacts as a page of one tenant, and looks at 500 tenants.
func AllDuplicates(app core.App, q DuplicatesQuery) (*Groups, error) {
	if err := q.chooseNames(app); err != nil {
		return nil, err
	}
	tenants, err := sqlite.Values[string](sqlite.Direct(app.ConcurrentDB()),
		"SELECT `id` FROM `tenants` WHERE `id` >= ? ORDER BY `id` LIMIT ?", q.after.Tenant, maxSearchedTenants+1)
	if err != nil {
		return nil, fmt.Errorf("listing tenants: %w", err)
	}
	page, left := &Groups{Groups: []Group{}}, maxScanned
	for i, tenantID := range tenants {
		part := q
		if tenantID != q.after.Tenant {
			part.after = groupCursor{By: q.after.By, Tenant: tenantID}
		}
		part.limit -= len(page.Groups)
		if i == maxSearchedTenants || part.limit == 0 || left <= 0 {
			return page, page.setNext(&part.after)
		}
		s := newScan(part)
		s.maxScanned = left
		groups, err := s.groupsOf(app, tenantID)
		if err != nil {
			return nil, err
		}
		for _, g := range groups {
			g.Tenant = tenantID
			page.Groups = append(page.Groups, g)
		}
		if s.next != nil {
			s.next.Tenant = tenantID
			return page, page.setNext(s.next)
		}
		left -= s.rows
	}
	return page, nil
}

// chooseNames chooses how names are compared.
func (q *DuplicatesQuery) chooseNames(app core.App) error {
	if q.after.By != "name" {
		return nil
	}
	isFolded, err := new(search.Advisor).IsFolded(app)
	switch {
	case err != nil:
		return err
	case isFolded:
		q.after.Key = search.FoldName(q.after.Key) // the cursor may be older than the order
	default:
		q.compare = earlierNames
	}
	return nil
}

// groupsOf returns the groups of the scan of a tenant, with their contacts.
func (s *scan) groupsOf(app core.App, tenantID string) ([]Group, error) {
	if err := s.read(sqlite.Direct(app.ConcurrentDB()), tenantID); err != nil {
		return nil, fmt.Errorf("looking for duplicates: %w", err)
	}
	groups := make([]Group, len(s.groups))
	for i, g := range s.groups {
		var err error
		groups[i] = Group{Value: g.key, Company: g.second, Count: g.count}
		groups[i].Contacts, err = contact.Select(app, func(columns string) (string, []any) {
			return s.q.compare.contactsSQL(columns), []any{tenantID, sqlite.List(g.numbers())}
		})
		if err != nil {
			return nil, err
		}
	}
	return groups, nil
}

// setNext sets the cursor of the next page, nil for none.
func (p *Groups) setNext(next *groupCursor) error {
	if next == nil {
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
