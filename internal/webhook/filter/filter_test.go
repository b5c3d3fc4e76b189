package filter_test

import (
	"slices"
	"strings"
	"testing"

	"contactbase/internal/webhook/filter"
)

const (
	created = `{"id":"evt_1","type":"contact.created","data":{"name":"Ada","company":"Acme","email":null,"vip":true,"score":7.5,"tags":["a","b"]}}`
	updated = `{"id":"evt_2","type":"contact.updated","data":{"name":"Ada","company":"Acme","email":"ada@example.com"},"previous":{"email":null,"name":"A"},"source":{"type":"key","id":"k1","merge":true}}`
)

func TestMatch(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][2]bool{ // of created and updated
		`type == "contact.created"`:                               {true, false},
		`type == "contact.created" && data.company == "Acme"`:     {true, false},
		`"email" in changed`:                                      {false, true},
		`"phone" in changed`:                                      {false, false},
		`data.email == nil`:                                       {true, false},
		`data.email endsWith "@example.com"`:                      {false, true},
		`data.vip == true`:                                        {true, false},
		`data.score > 7`:                                          {true, true}, // without a score it fails
		`"b" in data.tags`:                                        {true, false},
		`previous.name == "A"`:                                    {false, true},
		`lower(string(data.company)) == "acme"`:                   {true, true},
		`data.name contains "da" && data.name startsWith "A"`:     {true, true},
		`not (type startsWith "contact.") || len(changed) == 2`:   {false, true},
		`data.missing.deeper == "x"`:                              {true, true}, // fails
		`source.type == "key" && source.id != "k2"`:               {false, true},
		`source.type == "" || source.merge`:                       {true, true},
		`not source.merge`:                                        {true, false},
		`data.name in ["Ada", "Grace"] ? true : data.vip == true`: {true, true},
	} {
		f, err := filter.Compile(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		for i, payload := range []string{created, updated} {
			event, err := filter.Parse([]byte(payload))
			if err != nil {
				t.Fatal(err)
			}
			if got, err := f.Match(event); got != want[i] {
				t.Errorf("%s of %s is %v, %v", text, event.Type, got, err)
			}
		}
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	got := filter.Names(`(data.company == "a" || data["vip"] == true) && previous?.name != nil && "email" not in changed && "data.x" != data.company ` +
		`&& ("contact.created" == type || type in ["a", "b"]) && type startsWith "contact." && len(data.tags) > 1`)
	want := []filter.Name{
		{"data.company", "company", false}, {"data.vip", "vip", false}, {"previous.name", "name", false}, {`"email" in changed`, "email", false},
		{`the type "contact.created"`, "contact.created", true}, {`the type "a"`, "a", true}, {`the type "b"`, "b", true}, {"data.tags", "tags", false},
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v", got)
	}
}

// A filter is refused before it is stored if it cannot be evaluated in bounded time, or may not be a bool.
func TestCompileRefuses(t *testing.T) {
	t.Parallel()
	for text, fault := range map[string]string{
		`data.company`:                           "must be true or false",
		`1 + 1`:                                  "must be true or false",
		`source.name == "x"`:                     "line 1, column 8",
		`data.company = "Acme"`:                  "line 1, column 14: use == to compare",
		"type == \"x\" &&\n company == \"Acme\"": "line 2, column 2",
		`all(data.tags, # == "a")`:               "line 1",
		`data.name matches "(a|b){0,900}z"`:      "line 1, column 11: a filter cannot use matches",
		`data.name matches data.email`:           "matches",
		`"a" matches "a"`:                        "matches",
		`let a = data.name + data.name; let b = a + a; b == ""`: "variables",
		`true && (let a = 1; a == 1)`:                           "variables",
		`data.name == "ééé" && any(data.tags, # == "a")`:        "line 1, column 23: a filter cannot use the function any",
		"true &&\n  any(data.tags, # == \"a\")":                 "line 2, column 3: a filter cannot use the function any",
		`any(1..100000, any(1..100000, true))`:                  "line 1",
		`repeat("a", 100000000) == "a"`:                         "line 1",
		`now() > now()`:                                         "line 1",
		strings.Repeat(`type == "a" || `, 100) + `type == "a"`:  "node",
		``: "",
	} {
		if _, err := filter.Compile(text); err == nil || !strings.Contains(err.Error(), fault) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%.60s: %v", text, err)
		}
	}
}

// What an evaluation allocates is bounded.
func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	f, err := filter.Compile(`len(1..1000000) == data.n`)
	if err != nil {
		t.Fatal(err)
	}
	if matches, err := f.Match(&filter.Event{Data: map[string]any{"n": 1}}); !matches || err == nil {
		t.Errorf("got %v, %v", matches, err)
	}
}

func BenchmarkMatch(b *testing.B) {
	f, err := filter.Compile(`type == "contact.updated" && "email" in changed && data.company == "Acme"`)
	if err != nil {
		b.Fatal(err)
	}
	event, _ := filter.Parse([]byte(updated))
	b.Run("match", func(b *testing.B) {
		for b.Loop() {
			_, _ = f.Match(event)
		}
	})
	b.Run("parse", func(b *testing.B) {
		for b.Loop() {
			_, _ = filter.Parse([]byte(updated))
		}
	})
}
