package sqlite

import (
	"errors"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]statement{
		"SELECT 1":                              {"SELECT 1", kindRead},
		"  select\t1 ; ":                        {"select\t1", kindRead},
		"WITH a AS (SELECT 1) SELECT * FROM a":  {"WITH a AS (SELECT 1) SELECT * FROM a", kindWith},
		"\n\tInsert INTO a VALUES (?)":          {"Insert INTO a VALUES (?)", kindWrite},
		"UPDATE a SET b = 1;;":                  {"UPDATE a SET b = 1", kindWrite},
		"DELETE FROM a":                         {"DELETE FROM a", kindWrite},
		"REPLACE INTO a VALUES (1)":             {"REPLACE INTO a VALUES (1)", kindWrite},
		"VALUES(1)":                             {"VALUES(1)", kindRead},
		"INSERTED":                              {"INSERTED", kindOther},
		"PRAGMA optimize":                       {"PRAGMA optimize", kindOther},
		"-- a comment\nINSERT INTO a VALUES(1)": {"-- a comment\nINSERT INTO a VALUES(1)", kindOther},
		"BEGIN":                                 {"BEGIN", kindOther},
		"INSERT INTO a VALUES (1); COMMIT;":     {"INSERT INTO a VALUES (1); COMMIT;", kindOther},
		"INSERT INTO a VALUES ('b;c')":          {"INSERT INTO a VALUES ('b;c')", kindOther},
		"":                                      {"", kindOther},
		"ſELECT 1":                              {"ſELECT 1", kindOther},
	} {
		if got := parse(query); got != want {
			t.Errorf("parse(%q) = %v, want %v", query, got, want)
		}
	}
}

// closing is a statement that records that it was closed.
type closing struct {
	preparedStatement
	name   string
	closed *[]string
}

func (c *closing) Close() error {
	*c.closed = append(*c.closed, c.name)
	return nil
}

func TestStatements(t *testing.T) {
	t.Parallel()
	var closed []string
	prepared := func(name string) *closing { return &closing{name: name, closed: &closed} }
	kept := newStatements(2)
	for _, name := range []string{"a", "b"} {
		kept.put(name, prepared(name))
	}
	a := kept.take("a")
	if a == nil || kept.take("a") != nil {
		t.Error("a statement in use was returned twice, or not at all")
	}
	kept.put("a", a)
	kept.put("c", prepared("c")) // pushes the oldest out
	kept.put("c", prepared("c twin"))
	if got := strings.Join(closed, ","); got != "b,c" {
		t.Errorf("closed %q, want the oldest and the duplicate", got)
	}
	kept.close()
	if got := strings.Join(closed, ","); got != "b,c,a,c twin" {
		t.Errorf("close closed %q", got)
	}

	closed = nil
	newStatements(0).put("a", prepared("a"))
	if got := strings.Join(closed, ","); got != "a" {
		t.Errorf("without capacity, put closed %q", got)
	}
}

func TestStatementsOnReaders(t *testing.T) {
	t.Parallel()
	readers, writers := pools(t)
	mustExec(t, writers, "INSERT INTO things (id, name) VALUES (1, 'a'), (2, 'b')")
	tx, err := readers.Begin()
	if err != nil {
		t.Fatalf("beginning: %v", err)
	}
	const query = "SELECT name FROM things ORDER BY id"
	outer, err := tx.Query(query)
	if err != nil {
		t.Fatalf("querying: %v", err)
	}
	defer outer.Close()
	var seen []string
	for outer.Next() {
		var name string
		if err := outer.Scan(&name); err != nil {
			t.Fatalf("scanning: %v", err)
		}
		seen = append(seen, name, column(t, tx, query)) // the same statement while the first is in use
	}
	if err := outer.Err(); err != nil {
		t.Fatalf("reading: %v", err)
	}
	if got := strings.Join(seen, "|"); got != "a|a b|b|a b" {
		t.Errorf("two concurrent uses of a statement returned %q", got)
	}
	if err := tx.Commit(); err != nil {
		t.Fatalf("ending: %v", err)
	}

	readers.SetMaxOpenConns(2)
	const all = "SELECT * FROM things WHERE id = 1"
	columns := func() string {
		found, err := readers.Query(all)
		if err != nil {
			t.Fatalf("querying: %v", err)
		}
		defer found.Close()
		columns, err := found.Columns()
		if err := errors.Join(err, found.Err()); err != nil {
			t.Fatalf("reading the columns: %v", err)
		}
		return strings.Join(columns, " ")
	}
	if got := columns(); got != "id name" {
		t.Errorf("the columns are %q", got)
	}
	mustExec(t, writers, "ALTER TABLE things ADD COLUMN more TEXT")
	if got := columns(); got != "id name more" {
		t.Errorf("after a change of the schema the columns are %q", got)
	}
}
