package event

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"contactbase/internal/fault"
	"contactbase/internal/wire"
)

// MaxWait is how long a request for a page may wait for the first event.
const MaxWait = 30 * time.Second

// maxContactID is how many characters a contact's id has at the most.
const maxContactID = 50

// Query is a checked request for a page of the feed.
type Query struct {
	After  *string // nil for the end
	Filter Filter
	Limit  int
	Wait   time.Duration // for the first event, where there is none yet
}

// ParseQuery checks the query parameters of a request for the feed. The error is a fault that names the parameters at fault.
func ParseQuery(values url.Values) (Query, error) {
	q := Query{Limit: DefaultLimit}
	if faults := parameters.Read(&q, values); len(faults) > 0 {
		return Query{}, fault.InvalidParameters(faults)
	}
	return q, nil
}

// placePattern matches a place in a feed.
var placePattern = regexp.MustCompile(`^` + IDPrefix + `[a-z0-9]{15}$`)

// ParsePlace reads a place that a caller sends back.
func ParsePlace(s string) (*string, *fault.Field) {
	if s != Oldest && !placePattern.MatchString(s) {
		return nil, &fault.Field{Code: fault.CodeInvalidValue, Message: "must be the cursor of an earlier answer or the id of an event, or empty for the oldest"}
	}
	return &s, nil
}

// feedKinds are the kinds of events that are in feeds. A ping is for one webhook alone.
var feedKinds = slices.DeleteFunc(slices.Clone(Kinds), func(kind string) bool { return kind == string(WebhookPing) })

// parameters are the query parameters of the feed.
var parameters = wire.Parameters[Query]{
	"after": func(q *Query, s string) (wrong *fault.Field) {
		q.After, wrong = ParsePlace(s)
		return wrong
	},
	"limit": func(q *Query, s string) (wrong *fault.Field) {
		q.Limit, wrong = between(s, 1, MaxLimit)
		return wrong
	},
	"types": func(q *Query, s string) *fault.Field {
		q.Filter.Kinds = strings.Split(s, ",")
		for i, kind := range q.Filter.Kinds {
			kind = strings.TrimSpace(kind)
			if !slices.Contains(feedKinds, kind) {
				return &fault.Field{Code: fault.CodeInvalidValue, Message: "must be, separated by commas, of " + strings.Join(feedKinds, ", ")}
			}
			q.Filter.Kinds[i] = kind
		}
		return nil
	},
	"contact": func(q *Query, s string) *fault.Field {
		if s == "" || len(s) > maxContactID {
			return &fault.Field{Code: fault.CodeInvalidValue, Message: "must be the id of a contact"}
		}
		q.Filter.Contact = s
		return nil
	},
	"wait": func(q *Query, s string) *fault.Field {
		seconds, wrong := between(s, 0, int(MaxWait/time.Second))
		q.Wait = time.Duration(seconds) * time.Second
		return wrong
	},
}

func between(s string, least, most int) (int, *fault.Field) {
	n, wrong := wire.Integer(s, least)
	if wrong != nil || n > most {
		return 0, &fault.Field{Code: fault.CodeInvalidValue, Message: fmt.Sprintf("must be an integer from %d to %d", least, most)}
	}
	return n, nil
}
