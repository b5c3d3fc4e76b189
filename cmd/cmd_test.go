package cmd

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/pocketbase/pocketbase/core"
)

func TestJSONKeepsAddresses(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := printJSON(&out, row{{"url", "https://example.com/?a=1&b=<2>"}, {"none", nil}}); err != nil {
		t.Fatal(err)
	}
	if want := "{\n  \"url\": \"https://example.com/?a=1&b=<2>\",\n  \"none\": null\n}\n"; out.String() != want {
		t.Errorf("%s, not %s", out.String(), want)
	}
}

func TestTextOfNumbers(t *testing.T) {
	t.Parallel()
	if got := text(0.073576805); got != "0.07" {
		t.Errorf("seconds are shown as %q", got)
	}
	for want, counts := range map[string]map[string]int{"-": {}, "contact.created=3,contact.updated=1": {"contact.updated": 1, "contact.created": 3}} {
		if got := text(counts); got != want {
			t.Errorf("%v is shown as %q, not %q", counts, got, want)
		}
	}
}

// Records show whole numbers, times as the API has them, and nothing for an empty time.
func TestColumns(t *testing.T) {
	t.Parallel()
	collection := core.NewBaseCollection("tenants")
	collection.Fields.Add(&core.NumberField{Name: "rateLimit"}, &core.DateField{Name: "created"}, &core.DateField{Name: "lastUsed"},
		&core.SelectField{Name: "events", Values: []string{"a", "b"}, MaxSelect: 2},
		&core.SelectField{Name: "permissions", Values: []string{"a", "b"}, MaxSelect: 2})
	record := core.NewRecord(collection)
	record.Load(map[string]any{"rateLimit": 2_000_000, "created": "2026-01-31 10:20:30.456Z"})
	shown := columns(record, "rateLimit", "created", "lastUsed", "events", "permissions")
	got, err := json.Marshal(shown)
	if want := `{"rateLimit":2000000,"created":"2026-01-31T10:20:30.456Z","lastUsed":null,"events":[],"permissions":[]}`; string(got) != want || err != nil {
		t.Errorf("it is %s (%v)", got, err)
	}
	for _, p := range shown {
		if got, want := p.text(), map[string]string{"rateLimit": "2000000", "created": "2026-01-31T10:20:30.456Z", "lastUsed": "-",
			"events": "contact events", "permissions": "contacts:read,contacts:write"}[p.name]; got != want {
			t.Errorf("%s is shown as %s, not %s", p.name, got, want)
		}
	}
}
