// Package stamp formats times for the database and for the API.
package stamp

import (
	"strings"
	"time"

	"github.com/pocketbase/pocketbase/tools/types"
)

// shownLayout differs from the layout of stored times in one character.
const shownLayout = "2006-01-02T15:04:05.000Z"

// Stored returns the time in the format of PocketBase, in UTC with milliseconds. It sorts as text, for example
// "2026-03-04 16:20:11.000Z".
func Stored(at time.Time) string { return at.UTC().Format(types.DefaultDateLayout) }

// Parse parses a stored time. It returns the zero time if that is empty or malformed.
func Parse(stored string) time.Time {
	at, err := time.Parse(types.DefaultDateLayout, stored)
	if err != nil {
		return time.Time{}
	}
	return at
}

// Shown returns the time in the format of responses and events: RFC 3339 in UTC with milliseconds, for example
// "2026-03-04T16:20:11.000Z".
func Shown(at time.Time) string { return at.UTC().Format(shownLayout) }

// AppendShown appends what Shown returns to b.
func AppendShown(b []byte, at time.Time) []byte { return at.UTC().AppendFormat(b, shownLayout) }

// Show converts a stored time to the format of Shown, and "" to "".
func Show(stored string) string { return strings.Replace(stored, " ", "T", 1) }

// Store converts a time in the format of Shown to a stored time, and "" to "".
func Store(shown string) string { return strings.Replace(shown, "T", " ", 1) }

// Time is a time that responses show: as Shown does, or as null if it is zero.
type Time struct{ time.Time }

// MarshalJSON implements json.Marshaler.
func (t Time) MarshalJSON() ([]byte, error) {
	if t.IsZero() {
		return []byte("null"), nil
	}
	return []byte(`"` + Shown(t.Time) + `"`), nil
}
