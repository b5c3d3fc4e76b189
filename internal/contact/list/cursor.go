package list

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"

	"contactbase/internal/contact"
	"contactbase/internal/contact/search"
	"contactbase/internal/fault"
)

// Cursor is a position in an ordered list of contacts: just after one that the caller has seen.
type Cursor struct {
	Sort  Sort   `json:"s"`
	Value string `json:"v"` // the sorted column of that contact, as stored
	ID    string `json:"i"`
}

// cursorAfter returns the position just after a contact of the query's list.
func (q *Query) cursorAfter(c *contact.Contact) *Cursor {
	return &Cursor{Sort: q.Sort, Value: q.order().value(c), ID: c.ID}
}

// checkCursor returns the error of a cursor by names that an earlier version has sorted in another way.
func (q *Query) checkCursor() error {
	if q.Cursor == nil || !q.sortsNames() || strings.Contains(q.Cursor.Value, search.NameMark) == q.isFolded {
		return nil
	}
	return fault.InvalidParameters(fault.Fields{"cursor": {Code: fault.CodeInvalidValue,
		Message: "comes from before an upgrade, which has changed the order of names: begin again without it"}})
}

var errCursor = errors.New("malformed cursor")

// String returns the opaque form that callers send back.
func (c *Cursor) String() string {
	encoded, err := json.Marshal(c)
	if err != nil {
		return "" // unreachable: three strings can always be encoded
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
