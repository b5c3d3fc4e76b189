package contact

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/sqlite"
)

// Cursor is a place in an ordered list of contacts: right behind one that the caller has seen.
type Cursor struct {
	Sort  Sort   `json:"s"`
	Value string `json:"v"` // the sorted column of that contact, as stored
	ID    string `json:"i"`
}

var errCursor = errors.New("malformed cursor")

// String returns the opaque form that callers send back.
func (c *Cursor) String() string {
	encoded, err := json.Marshal(c)
	if err != nil {
		return "" // unreachable: three strings always encode
	}
	return base64.RawURLEncoding.EncodeToString(encoded)
}

// ParseCursor reads the form that String returns.
func ParseCursor(s string) (*Cursor, error) {
	decoded, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil {
		return nil, errCursor
	}
	c := &Cursor{}
	if err := json.Unmarshal(decoded, c); err != nil || c.ID == "" {
		return nil, errCursor
	}
	if _, ok := orders[c.Sort]; !ok {
		return nil, errCursor
	}
	return c, nil
}

// Page is a page of a list. Next is where the following one begins; nil means that there is none.
type Page struct {
	Contacts []*Contact
	Next     *Cursor
}

// List returns a page of the tenant's contacts.
func List(app core.App, tenantID string, q Query) (page *Page, err error) {
	err = withSchema(app, func(s *schema) error {
		page, err = s.list(app, tenantID, q)
		return err
	})
	return page, err
}

func (s *schema) list(app core.App, tenantID string, q Query) (*Page, error) {
	statement, params, err := s.listStatement(app, tenantID, q)
	if err != nil {
		return nil, err
	}
	rows, err := sqlite.Direct(app.ConcurrentDB()).Query(statement, params.named()...)
	if err != nil {
		return nil, fmt.Errorf("listing contacts: %w", err)
	}
	found, err := s.scanAll(rows)
	if err != nil {
		return nil, err
	}
	page := &Page{Contacts: found}
	if len(found) > q.Limit { // one more than asked for was read, to know whether there is more
		page.Contacts = found[:q.Limit]
		last := page.Contacts[q.Limit-1]
		page.Next = &Cursor{Sort: q.Sort, Value: orders[q.Sort].value(last), ID: last.ID}
	}
	return page, nil
}
