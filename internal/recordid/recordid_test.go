package recordid

import (
	"regexp"
	"testing"
	"time"
)

var allowed = regexp.MustCompile(`^[a-z0-9]{15}$`) // what PocketBase takes as an id

func TestNew(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	seen, previous := map[string]bool{}, ""
	for i := range 2000 {
		id := New(at.Add(time.Duration(i/1000) * time.Millisecond))
		if !allowed.MatchString(id) || seen[id] {
			t.Fatalf("id %d is %q", i, id)
		}
		if id[:timeLength] < previous {
			t.Fatalf("%q comes after %q", id, previous)
		}
		seen[id], previous = true, id[:timeLength]
	}
}

func TestFollowing(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]string{
		"0mkabc123000000": "0mkabc123000001",
		"0mkabc12300000z": "0mkabc123000010",
		"0mkabc123zzzzzz": "", // the millisecond is full
		"0mkabc123ABCDEF": "",
		"short":           "",
		"":                "",
	} {
		if got := Following(id); got != want {
			t.Errorf("behind %q comes %q, not %q", id, got, want)
		}
	}
}
