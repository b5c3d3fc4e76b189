package event_test

import (
	"os"
	"regexp"
	"slices"
	"strconv"
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
	_, rest, _ := strings.Cut(readFile(t, path), start)
	list, _, _ := strings.Cut(rest, end)
	for _, found := range quoted.FindAllStringSubmatch(list, -1) {
		kinds = append(kinds, found[1])
	}
	return kinds
}

// The migrations, the OpenAPI document, the dashboard, the documents and the clients list every kind.
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
	_, feed, _ := strings.Cut(string(api.YAML()), "\n    FeedEvent:\n")
	feed, _, _ = strings.Cut(feed, "\n    ErasedEvent:\n")
	catalog := readFile(t, "../../docs/event-catalog.md")
	goClient, tsClient := readFile(t, "../../clients/go/event.go"), readFile(t, "../../clients/typescript/src/webhook.ts")
	trigger := readFile(t, "../../clients/n8n/nodes/ContactbaseFeedTrigger/ContactbaseFeedTrigger.node.ts")
	for _, kind := range event.Kinds {
		noun, verb, _ := strings.Cut(kind, ".")
		schema := strings.ToUpper(noun[:1]) + noun[1:] + strings.ToUpper(verb[:1]) + verb[1:] + "Event"
		for place, has := range map[string]bool{
			"the webhooks of api/openapi.yaml":               strings.Contains(string(api.YAML()), "\n  "+kind+":\n    post:\n"),
			"the schema FeedEvent in api/openapi.yaml":       kind == string(event.WebhookPing) || strings.Contains(feed, "schemas/"+schema+"'"),
			"docs/event-catalog.md":                          regexp.MustCompile(`(?m)^## .*\b` + kind + `\b`).MatchString(catalog),
			"ParseEvent in clients/go/event.go":              strings.Contains(goClient, strconv.Quote(kind)),
			"clients/typescript/src/webhook.ts":              kind == string(event.WebhookPing) || strings.Contains(tsClient, "Schemas["+strconv.Quote(schema)+"]"),
			"the node ContactbaseFeedTrigger in clients/n8n": kind == string(event.WebhookPing) || strings.Contains(trigger, "value: '"+kind+"'"),
		} {
			if !has {
				t.Errorf("%s: no %s", place, kind)
			}
		}
	}
}

// Each kind says whether webhooks without a list of kinds receive it. Whoever adds one decides, and says it here, too:
// those webhooks exist already, and their receivers may not know the kind.
func TestKindsSayWhoReceivesThem(t *testing.T) {
	t.Parallel()
	byDefault := map[string]bool{
		"contact.created": true, "contact.updated": true, "contact.deleted": true, "webhook.ping": false,
		"webhook.failing": false, "webhook.recovered": false, "webhook.disabled": false, "key.expiring": false,
	}
	for _, kind := range event.Kinds {
		want, isSaid := byDefault[kind]
		if got := event.Kind(kind).ByDefault(); !isSaid || got != want {
			t.Errorf("%s: by default %v, want %v (said here: %v)", kind, got, want, isSaid)
		}
	}
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}
