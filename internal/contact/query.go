package contact

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/pocketbase/pocketbase/tools/types"
)

// Limits of a list.
const (
	DefaultLimit = 50
	MaxLimit     = 200
	maxSearch    = 200 // characters
)

// The codes of a FieldError of a query parameter.
const (
	CodeUnknownParameter = "unknown_parameter"
	CodeInvalidValue     = "invalid_value"
)

// Query is a checked request for a page of contacts.
type Query struct {
	Limit        int
	Offset       int
	Words        []string // all of them have to be found
	Sort         Sort
	Email        *string
	Phone        *string
	ExternalID   *string
	UpdatedSince *types.DateTime
	Cursor       *Cursor
}

// Sort is an order of contacts; the id breaks ties in the same direction.
type Sort string

// sortColumns are the orders that a caller may ask for.
var sortColumns = map[Sort]struct {
	column     string
	descending bool
}{
	"createdAt":  {"c.`created`", false},
	"-createdAt": {"c.`created`", true},
	"updatedAt":  {"c.`updated`", false},
	"-updatedAt": {"c.`updated`", true},
	"name":       {"c.`name` COLLATE NOCASE", false},
	"-name":      {"c.`name` COLLATE NOCASE", true},
}

const defaultSort Sort = "createdAt"

// ParseQuery checks the query parameters of a list. The error is a FieldErrors that names the parameters at fault.
func ParseQuery(values url.Values) (Query, error) {
	q := Query{Limit: DefaultLimit, Sort: defaultSort}
	faults := FieldErrors{}
	for name, given := range values {
		parse, known := parameters[name]
		switch {
		case !known:
			faults[name] = FieldError{CodeUnknownParameter, "is not a parameter of this request"}
		case len(given) > 1:
			faults[name] = FieldError{CodeInvalidValue, "must be given once"}
		case !utf8.ValidString(given[0]) || strings.ContainsFunc(given[0], isForbiddenControl):
			faults[name] = FieldError{CodeInvalidCharacters, "must be UTF-8 without control characters"}
		default:
			if fault := parse(&q, given[0]); fault != nil {
				faults[name] = *fault
			}
		}
	}
	if q.Cursor != nil && values.Has("offset") {
		faults["offset"] = FieldError{CodeInvalidValue, "cannot be combined with cursor"}
	}
	if q.Cursor != nil && q.Cursor.Sort != q.Sort && faults["sort"].Code == "" {
		faults["cursor"] = FieldError{CodeInvalidValue, "belongs to a list with another sort"}
	}
	if len(faults) > 0 {
		return Query{}, faults
	}
	return q, nil
}

// isForbiddenControl lets white space through: it separates the words of a search.
func isForbiddenControl(r rune) bool { return unicode.IsControl(r) && !unicode.IsSpace(r) }

var parameters = map[string]func(*Query, string) *FieldError{
	"limit": func(q *Query, s string) *FieldError {
		n, fault := integer(s, 1)
		q.Limit = min(n, MaxLimit)
		return fault
	},
	"offset": func(q *Query, s string) (fault *FieldError) {
		q.Offset, fault = integer(s, 0)
		return fault
	},
	"q": func(q *Query, s string) *FieldError {
		if utf8.RuneCountInString(s) > maxSearch {
			return &FieldError{CodeTooLong, fmt.Sprintf("must have at most %d characters", maxSearch)}
		}
		q.Words = strings.Fields(s)
		return nil
	},
	"sort": func(q *Query, s string) *FieldError {
		q.Sort = Sort(s)
		if _, ok := sortColumns[q.Sort]; !ok {
			return &FieldError{CodeInvalidValue, "must be one of createdAt, -createdAt, updatedAt, -updatedAt, name, -name"}
		}
		return nil
	},
	"email": func(q *Query, s string) *FieldError {
		q.Email = &s
		return notEmpty(s)
	},
	"phone": func(q *Query, s string) *FieldError {
		// a plus sign that was not encoded arrives as a space
		digits := "+" + strings.TrimPrefix(stripPhone(s), "+")
		q.Phone = &digits
		if !phonePattern.MatchString(digits) {
			return &FieldError{CodeInvalidPhone, "must be in international format, such as +4930123456 (a plus sign is %2B in a URL)"}
		}
		return nil
	},
	"externalId": func(q *Query, s string) *FieldError {
		s = strings.TrimSpace(s)
		q.ExternalID = &s
		return notEmpty(s)
	},
	"updatedSince": func(q *Query, s string) *FieldError {
		// a plus sign of a time zone that was not encoded arrives as a space
		at, err := time.Parse(time.RFC3339, strings.Replace(s, " ", "+", 1))
		if err != nil {
			return &FieldError{CodeInvalidValue, "must be an RFC 3339 time, such as 2026-01-31T12:00:00Z"}
		}
		since, err := types.ParseDateTime(ceilMillisecond(at.UTC()))
		if err != nil {
			return &FieldError{CodeInvalidValue, "must be an RFC 3339 time, such as 2026-01-31T12:00:00Z"}
		}
		q.UpdatedSince = &since
		return nil
	},
	"cursor": func(q *Query, s string) *FieldError {
		cursor, err := ParseCursor(s)
		if err != nil {
			return &FieldError{CodeInvalidValue, "must come from the Link header of an earlier page"}
		}
		q.Cursor = cursor
		return nil
	},
}

// ceilMillisecond rounds up to what is stored, so that nothing from before the asked time is found.
func ceilMillisecond(at time.Time) time.Time {
	return at.Add(time.Millisecond - 1).Truncate(time.Millisecond)
}

func integer(s string, least int) (int, *FieldError) {
	n, err := strconv.Atoi(s)
	if err != nil || n < least {
		return 0, &FieldError{CodeInvalidValue, fmt.Sprintf("must be an integer of at least %d", least)}
	}
	return n, nil
}

func notEmpty(s string) *FieldError {
	if strings.TrimSpace(s) == "" {
		return &FieldError{CodeInvalidValue, "must not be empty; leave the parameter out to list all"}
	}
	return nil
}
