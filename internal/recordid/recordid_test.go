package recordid

import (
	"database/sql"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"
)

var allowed = regexp.MustCompile(`^[a-z0-9]{15}$`) // what PocketBase takes as an id

func TestNew(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	seen := map[string]bool{}
	for i := range 2000 {
		made := at.Add(time.Duration(i/1000) * time.Millisecond)
		id := New(made)
		if !allowed.MatchString(id) || seen[id] {
			t.Fatalf("id %d is %q", i, id)
		}
		if milli := strconv.FormatInt(made.UnixMilli(), 36); id[:timeLength] != "0"+milli {
			t.Fatalf("%q does not begin with the time, %s", id, milli)
		}
		seen[id] = true
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
			t.Errorf("Following(%q) = %q, want %q", id, got, want)
		}
	}
}

// Statements that insert many rows at the same time on several connections get different ids.
func TestFunction(t *testing.T) {
	t.Parallel()
	db, err := sql.Open("sqlite", filepath.Join(t.TempDir(), "ids.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	query := "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000) SELECT " + Function + " FROM n"
	ids := make(chan []string)
	for range 2 {
		go func() { ids <- column(t, db, query) }()
	}
	seen := map[string]bool{}
	for range 2 {
		for _, id := range <-ids {
			if !allowed.MatchString(id) || seen[id] {
				t.Errorf("an id is %q, which is not a new one", id)
			}
			seen[id] = true
		}
	}
	if len(seen) != 2000 {
		t.Errorf("2,000 rows got %d ids", len(seen))
	}
}

func column(t *testing.T, db *sql.DB, query string) (values []string) {
	rows, err := db.Query(query)
	if err != nil {
		t.Error(err)
		return nil
	}
	defer rows.Close()
	for rows.Next() {
		var value string
		if err := rows.Scan(&value); err != nil {
			t.Error(err)
		}
		values = append(values, value)
	}
	if err := rows.Err(); err != nil {
		t.Error(err)
	}
	return values
}
