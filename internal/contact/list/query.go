package list

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact"
	"contactbase/internal/contact/search"
	"contactbase/internal/fault"
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
	Filter
	Limit  int
	Offset int // how many contacts are skipped; SQLite steps over each of them
	Sort   Sort
	Cursor *Cursor // after which the page begins, at any depth for the same cost; nil with an offset

	// waits for a turn to read a page of Each, and returns what ends it; nil if nobody else reads
	Turn func(ctx context.Context) (release func(), err error)

	isFolded bool // as search.Advisor.IsFolded returns it
}

// Filter chooses contacts.
type Filter struct {
	Words []string          // that every contact contains
	Equal map[string]string // the values that fields must have, by the names of the fields
	// the values that fields with an index of an administrator must have, the most selective first
	Indexed []Indexed
	Times   map[string]string // the stored times that the time filters compare with, by the names of their parameters
	Import  string            // the import that has created the contacts; "" for any. A time should bound the list
}

// Sort is an order of contacts; the id breaks ties in the same direction.
type Sort string

// Sorts returns the names of the orders that callers may ask for. Do not change the list.
func Sorts() []string { return sorts }

// Filters returns the names of the parameters that choose and order contacts, rather than pages of them.
func Filters() []string {
	return slices.Sorted(slices.Values(append(slices.Collect(maps.Keys(filters)), "sort")))
}

const defaultSort Sort = "createdAt"

// ParseFilters checks query parameters that choose contacts. The error is a *fault.Error that names the invalid
// parameters.
func ParseFilters(app core.App, values url.Values) (f Filter, err error) {
	known, err := withFields(app, values)
	if err != nil {
		return Filter{}, err
	}
	if faults := known.Read(&f, values); len(faults) > 0 {
		return Filter{}, fault.InvalidParameters(faults)
	}
	slices.SortFunc(f.Indexed, func(a, b Indexed) int { return cmp.Or(a.rank-b.rank, strings.Compare(a.Field, b.Field)) })
	return f, nil
}

// ParsePage checks the query parameters of a list: those of ParseFilters, and those of its order and its pages. The
// error is a *fault.Error that names the invalid parameters.
func ParsePage(app core.App, values url.Values) (Query, error) {
	q := Query{Limit: DefaultLimit, Sort: defaultSort}
	chosen, paged := url.Values{}, url.Values{}
	for name, given := range values {
		if pages[name] != nil {
			paged[name] = given
		} else {
			chosen[name] = given
		}
	}
	faults := pages.Read(&q, paged)
	var invalid *fault.Error
	var err error
	if q.Filter, err = ParseFilters(app, chosen); errors.As(err, &invalid) {
		maps.Copy(faults, invalid.Fields)
	} else if err != nil {
		return Query{}, err
	}
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

// pages are the query parameters that order contacts, and choose a page of them.
var pages = wire.Parameters[Query]{
	"limit": func(q *Query, s string) *fault.Field {
		n, wrong := wire.Integer(s, 1)
		q.Limit = min(n, MaxLimit)
		return wrong
	},
	"offset": func(q *Query, s string) (wrong *fault.Field) {
		q.Offset, wrong = wire.Integer(s, 0)
		return wrong
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
}

// filters are the query parameters that choose contacts: by a search, by a time, and by the value of the field with
// their name.
var filters = func() wire.Parameters[Filter] {
	parameters := wire.Parameters[Filter]{"q": readSearch}
	for _, filter := range timeFilters {
		parameters[filter.name] = filter.read
	}
	for _, field := range contact.Fields {
		if field.Filter == nil || field.Unindexed {
			continue
		}
		parameters[field.Name] = func(f *Filter, s string) *fault.Field {
			value, wrong := field.Filter(s)
			if f.Equal == nil {
				f.Equal = map[string]string{}
			}
			f.Equal[field.Name] = value
			return wrong
		}
	}
	return parameters
}()

// readSearch reads the words of a search.
func readSearch(f *Filter, s string) *fault.Field {
	if utf8.RuneCountInString(s) > MaxSearch {
		return &fault.Field{Code: fault.CodeTooLong, Message: fmt.Sprintf("must have at most %d characters", MaxSearch)}
	}
	f.Words = search.Words(s)
	return nil
}
