package cmd

import (
	"strings"
	"testing"
	"time"
)

// The flag --since takes a time, a date or how long ago; its error names the forms.
func TestSince(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]string{
		"2026-01-31T10:00:00+01:00": "2026-01-31T09:00:00Z", "2026-01-31": "2026-01-31T00:00:00Z",
		"90m": "2026-03-10T10:30:00Z", "24h": "2026-03-09T12:00:00Z", "7d": "2026-03-03T12:00:00Z",
	} {
		if got, err := sinceOf(text, now); err != nil || got.UTC().Format(time.RFC3339) != want {
			t.Errorf("%s is %s (%v), not %s", text, got, err, want)
		}
	}
	for _, text := range []string{"", "-1h", "-7d", "d", "36501d", "99999999999999999999d", "yesterday", "2026-02-30"} {
		_, err := sinceOf(text, now)
		if err == nil || !strings.Contains(err.Error(), "a date such as 2026-01-31, or how long ago, such as 90m, 24h or 7d") {
			t.Errorf("%q: %v", text, err)
		}
	}
}
