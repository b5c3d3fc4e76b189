package physical

import (
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]Statement{
		"SELECT 1":                              {"SELECT 1", Read},
		"  select\t1 ; ":                        {"select\t1", Read},
		"WITH a AS (SELECT 1) SELECT * FROM a":  {"WITH a AS (SELECT 1) SELECT * FROM a", With},
		"\n\tInsert INTO a VALUES (?)":          {"Insert INTO a VALUES (?)", Write},
		"UPDATE a SET b = 1;;":                  {"UPDATE a SET b = 1", Write},
		"DELETE FROM a":                         {"DELETE FROM a", Write},
		"REPLACE INTO a VALUES (1)":             {"REPLACE INTO a VALUES (1)", Write},
		"VALUES(1)":                             {"VALUES(1)", Read},
		"INSERTED":                              {"INSERTED", Other},
		"PRAGMA optimize":                       {"PRAGMA optimize", Other},
		"-- a comment\nINSERT INTO a VALUES(1)": {"-- a comment\nINSERT INTO a VALUES(1)", Other},
		"BEGIN":                                 {"BEGIN", Other},
		"INSERT INTO a VALUES (1); COMMIT;":     {"INSERT INTO a VALUES (1); COMMIT;", Other},
		"INSERT INTO a VALUES ('b;c')":          {"INSERT INTO a VALUES ('b;c')", Other},
		"":                                      {"", Other},
		"ſELECT 1":                              {"ſELECT 1", Other},
	} {
		if got := Parse(query); got != want {
			t.Errorf("Parse(%q) = %v, want %v", query, got, want)
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
