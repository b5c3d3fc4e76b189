package list_test

import (
	"testing"

	"contactbase/internal/contact/list"
)

// FuzzCursor reads any text as a cursor. The form of what it reads is read as the same cursor.
func FuzzCursor(f *testing.F) {
	for _, text := range []string{(&list.Cursor{Sort: "-name", Value: "Zoë", ID: "0mm8yqpxck3w9xa"}).String(), "", "e30", "eyJzIjoibmFtZSIsInYiOiIiLCJpIjoieCJ9", "e"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		cursor, err := list.ParseCursor(text)
		if err != nil {
			return
		}
		if again, err := list.ParseCursor(cursor.String()); err != nil || *again != *cursor {
			t.Errorf("%q is %+v, and %q is %+v (%v)", text, cursor, cursor.String(), again, err)
		}
	})
}
