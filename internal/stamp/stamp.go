// Package stamp writes times as they are stored and as they are shown.
package stamp

import (
	"strings"
	"time"

	"github.com/pocketbase/pocketbase/tools/types"
)

// shownLayout is that of the database but for one character.
const shownLayout = "2006-01-02T15:04:05.000Z"

// Stored returns the time as PocketBase stores it: UTC, in milliseconds, in the order of the text, such as
// "2026-03-04 16:20:11.000Z".
func Stored(at time.Time) string { return at.UTC().Format(types.DefaultDateLayout) }

// Parse reads a stored time. An empty or malformed one is the zero time.
func Parse(stored string) time.Time {
	at, err := time.Parse(types.DefaultDateLayout, stored)
	if err != nil {
		return time.Time{}
	}
	return at
}

// Shown returns the time as answers and events show it: RFC 3339 in UTC, with milliseconds, such as
// "2026-03-04T16:20:11.000Z".
func Shown(at time.Time) string { return at.UTC().Format(shownLayout) }

// AppendShown appends what Shown returns to b.
func AppendShown(b []byte, at time.Time) []byte { return at.UTC().AppendFormat(b, shownLayout) }

// Show turns a stored time into one that is shown, and "" into "".
func Show(stored string) string { return strings.Replace(stored, " ", "T", 1) }

// Store turns a time that is shown into one that is stored, and "" into "".
func Store(shown string) string { return strings.Replace(shown, "T", " ", 1) }
