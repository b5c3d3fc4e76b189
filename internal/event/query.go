package event

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/fault"
	"contactbase/internal/wire"
)

// maxWait is how long a request for a page may wait for the first event.
const maxWait = 30 * time.Second

// maxContactID is the longest id of a contact, in characters.
const maxContactID = 50

// Query is a checked request for a page of the feed.
type Query struct {
	After  *string // cursor; nil for the end
	Filter Filter
	Limit  int
	Wait   time.Duration // for the first event, if there is none yet
}

// ParseQuery checks the query parameters of a request for the feed. The error is a fault that names the
// invalid parameters.
func ParseQuery(app core.App, values url.Values) (Query, error) {
	q := Query{Limit: DefaultLimit}
	faults := parameters.Read(&q, values)
	// a ping is only for one webhook
	known := slices.DeleteFunc(AllKinds(app), func(kind string) bool { return kind == string(WebhookPing) })
	for _, kind := range q.Filter.Kinds {
		if !slices.Contains(known, kind) {
			faults["types"] = fault.Field{Code: fault.CodeInvalidValue, Message: "must be a comma-separated list of " +
				strings.Join(known, ", ")}
			break
		}
	}
	if len(faults) > 0 {
		return Query{}, fault.InvalidParameters(faults)
	}
	return q, nil
}

// cursorPattern matches a cursor.
var cursorPattern = regexp.MustCompile(`^` + IDPrefix + `[a-z0-9]{15}$`)

// ParseCursor checks a cursor that a client sends.
func ParseCursor(s string) (*string, *fault.Field) {
	if s != Oldest && !cursorPattern.MatchString(s) {
		return nil, &fault.Field{
			Code:    fault.CodeInvalidValue,
			Message: "must be the cursor of an earlier response or the ID of an event, or empty for the oldest event",
		}
	}
	return &s, nil
}

// parameters are the query parameters of the feed.
var parameters = wire.Parameters[Query]{
	"after": func(q *Query, s string) (invalid *fault.Field) {
		q.After, invalid = ParseCursor(s)
		return invalid
	},
	"limit": func(q *Query, s string) (invalid *fault.Field) {
		q.Limit, invalid = integerBetween(s, 1, MaxLimit)
		return invalid
	},
	"types": func(q *Query, s string) *fault.Field {
		q.Filter.Kinds = strings.Split(s, ",")
		for i, kind := range q.Filter.Kinds {
			q.Filter.Kinds[i] = strings.TrimSpace(kind)
		}
		return nil
	},
	"contact": func(q *Query, s string) *fault.Field {
		if s == "" || len(s) > maxContactID {
			return &fault.Field{Code: fault.CodeInvalidValue, Message: "must be the ID of a contact"}
		}
		q.Filter.Contact = s
		return nil
	},
	"wait": func(q *Query, s string) *fault.Field {
		seconds, invalid := integerBetween(s, 0, int(maxWait/time.Second))
		q.Wait = time.Duration(seconds) * time.Second
		return invalid
	},
}

func integerBetween(s string, minimum, maximum int) (int, *fault.Field) {
	n, invalid := wire.Integer(s, minimum)
	if invalid != nil || n > maximum {
		return 0, &fault.Field{
			Code: fault.CodeInvalidValue, Message: fmt.Sprintf("must be an integer from %d to %d", minimum, maximum),
		}
	}
	return n, nil
}
