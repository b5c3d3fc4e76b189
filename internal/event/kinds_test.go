package event_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/api"
	"contactbase/internal/event"
	"contactbase/internal/testkit"
)

// quoted matches a quoted text with a dot, as kinds have.
var quoted = regexp.MustCompile(`"([a-z]+\.[a-z]+)"`)

// kindsBetween returns the quoted kinds between two texts of a file.
func kindsBetween(t *testing.T, path, start, end string) (kinds []string) {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(content), start)
	list, _, _ := strings.Cut(rest, end)
	for _, found := range quoted.FindAllStringSubmatch(list, -1) {
		kinds = append(kinds, found[1])
	}
	return kinds
}

// The migrations, the OpenAPI document and the dashboard list every kind.
func TestKindsAreListedEverywhere(t *testing.T) {
	t.Parallel()
	webhooks, err := testkit.NewApp(t).FindCollectionByNameOrId("webhooks")
	if err != nil {
		t.Fatal(err)
	}
	_, enum, _ := strings.Cut(string(api.YAML()), "\n    EventType:\n      type: string\n      enum: [")
	enum, _, _ = strings.Cut(enum, "]")
	for place, listed := range map[string][]string{
		"the field events of the webhooks, by a migration": webhooks.Fields.GetByName("events").(*core.SelectField).Values,
		"the schema EventType in api/openapi.yaml":         strings.Split(enum, ", "),
		"eventKinds in dashboard/modules/labels.js":        kindsBetween(t, "../../dashboard/modules/labels.js", "const eventKinds = {", "};"),
		"EventKind in dashboard/types/records.d.ts":        kindsBetween(t, "../../dashboard/types/records.d.ts", "type EventKind =", ";"),
	} {
		if !slices.Equal(listed, event.Kinds) {
			t.Errorf("%s lists %q, want %q", place, listed, event.Kinds)
		}
	}
	if field := webhooks.Fields.GetByName("events").(*core.SelectField); field.MaxSelect != len(field.Values) {
		t.Errorf("a webhook can choose %d of %d kinds", field.MaxSelect, len(field.Values))
	}
	for _, kind := range event.Kinds {
		if !strings.Contains(string(api.YAML()), "\n  "+kind+":\n    post:\n") {
			t.Errorf("api/openapi.yaml has no webhook %s", kind)
		}
	}
}
