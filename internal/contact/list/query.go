package list

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact"
	"contactbase/internal/fault"
	"contactbase/internal/stamp"
	"contactbase/internal/wire"
)

// Limits of a list.
const (
	DefaultLimit = 50
	MaxLimit     = 200
	MaxSearch    = 200 // characters
)

// Query is a checked request for a page of contacts.
type Query struct {
	Limit   int
	Offset  int
	Words   []string // that every contact contains
	Sort    Sort
	Equal   map[string]string // the values that fields must have, by the names of the fields
	Indexed []Indexed         // the values that fields with an index of an administrator must have, the most selective first
	Times   map[string]string // the stored times that the time filters compare with, by the names of their parameters
	Cursor  *Cursor
}

// Sort is an order of contacts; the id breaks ties in the same direction.
type Sort string

// order is the meaning of a Sort.
type order struct {
	column     string // of a contact c, in SQL
	descending bool
	value      func(*contact.Contact) string // the stored value of the column
}

// orders are the orders that callers may ask for. sorts has their names.
var orders, sorts = func() (orders map[Sort]order, names []string) {
	orders = map[Sort]order{}
	add := func(name, column string, value func(*contact.Contact) string) {
		names = append(names, name, "-"+name)
		orders[Sort(name)] = order{column, false, value}
		orders[Sort("-"+name)] = order{column, true, value}
	}
	add("createdAt", "c.`created`", func(c *contact.Contact) string { return stamp.Store(c.Created) })
	add("updatedAt", "c.`updated`", func(c *contact.Contact) string { return stamp.Store(c.Updated) })
	for _, field := range contact.Fields {
		if field.Sortable {
			add(field.Name, "c.`"+field.Name+"` COLLATE NOCASE", field.Value)
		}
	}
	return orders, names
}()

// Sorts returns the names of the orders that callers may ask for. Do not change the list.
func Sorts() []string { return sorts }

// Filters returns the names of the parameters that choose and order contacts, rather than pages of them.
func Filters() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(parameters)), func(name string) bool { return slices.Contains([]string{"limit", "offset", "cursor"}, name) })
}

const defaultSort Sort = "createdAt"

// ParseQuery checks the query parameters of a list. The error is a *fault.Error that names the invalid parameters.
func ParseQuery(app core.App, values url.Values) (Query, error) {
	q := Query{Limit: DefaultLimit, Sort: defaultSort}
	known, err := withFields(app, values)
	if err != nil {
		return Query{}, err
	}
	faults := known.Read(&q, values)
	slices.SortFunc(q.Indexed, func(a, b Indexed) int { return cmp.Or(a.rank-b.rank, strings.Compare(a.Field, b.Field)) })
	if q.Cursor != nil && values.Has("offset") {
		faults["offset"] = fault.Field{Code: fault.CodeInvalidValue, Message: "cannot be combined with cursor"}
	}
	if q.Cursor != nil && q.Cursor.Sort != q.Sort && faults["sort"].Code == "" {
		faults["cursor"] = fault.Field{Code: fault.CodeInvalidValue, Message: "belongs to a list with another sort"}
	}
	if len(faults) > 0 {
		return Query{}, fault.InvalidParameters(faults)
	}
	return q, nil
}

// parameters are the query parameters of a list.
var parameters = withFilters(wire.Parameters[Query]{
	"limit": func(q *Query, s string) *fault.Field {
		n, wrong := wire.Integer(s, 1)
		q.Limit = min(n, MaxLimit)
		return wrong
	},
	"offset": func(q *Query, s string) (wrong *fault.Field) {
		q.Offset, wrong = wire.Integer(s, 0)
		return wrong
	},
	"q": func(q *Query, s string) *fault.Field {
		if utf8.RuneCountInString(s) > MaxSearch {
			return &fault.Field{Code: fault.CodeTooLong, Message: fmt.Sprintf("must have at most %d characters", MaxSearch)}
		}
		q.Words = strings.Fields(s)
		return nil
	},
	"sort": func(q *Query, s string) *fault.Field {
		q.Sort = Sort(s)
		if _, ok := orders[q.Sort]; !ok {
			return &fault.Field{Code: fault.CodeInvalidValue, Message: "must be one of " + strings.Join(sorts, ", ")}
		}
		return nil
	},
	"cursor": func(q *Query, s string) *fault.Field {
		cursor, err := ParseCursor(s)
		if err != nil {
			return &fault.Field{Code: fault.CodeInvalidValue, Message: "must come from the Link header of an earlier page"}
		}
		q.Cursor = cursor
		return nil
	},
})

// withFilters adds the parameters that filter by a time, and those that have the name of a field and filter by its value.
func withFilters(parameters wire.Parameters[Query]) wire.Parameters[Query] {
	for _, filter := range timeFilters {
		parameters[filter.name] = filter.read
	}
	for _, field := range contact.Fields {
		if field.Filter == nil || field.Unindexed {
			continue
		}
		parameters[field.Name] = func(q *Query, s string) *fault.Field {
			value, wrong := field.Filter(s)
			if q.Equal == nil {
				q.Equal = map[string]string{}
			}
			q.Equal[field.Name] = value
			return wrong
		}
	}
	return parameters
}
