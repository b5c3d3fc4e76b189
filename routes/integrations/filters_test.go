package integrations_test

import (
	"fmt"
	"strings"
	"testing"

	"contactbase/internal/testkit"
)

// The preview of a filter: what it does with an event and with the tenant's last events, and the errors in it.
func TestPreviewFilter(t *testing.T) {
	t.Parallel()
	_, f := newAPI(t)
	admin := newAdmin(t, f)
	webhook := testkit.Webhook(t, f.App, f.tenant, "https://hooks.example.com", "")
	other := testkit.Tenant(t, f.App, "Other")
	var events []string
	for i := range 3 {
		c, err := testkit.Create(f.App, f.tenant, map[string]any{"name": fmt.Sprint("P", i), "company": fmt.Sprint("Acme ", i%2)})
		if err != nil {
			t.Fatal(err)
		}
		var id string
		if err := f.App.DB().NewQuery("SELECT id FROM events WHERE contact = '" + c.ID + "'").Row(&id); err != nil {
			t.Fatal(err)
		}
		events = append(events, id)
	}
	if _, err := testkit.Create(f.App, other, map[string]any{"name": "Stranger"}); err != nil {
		t.Fatal(err)
	}
	const acme0 = `"filter":"data.company == \"Acme 0\""`
	for body, want := range map[string]string{
		`{` + acme0 + `,"tenant":"` + f.tenant + `"}`:                                                                `{"matches":null,"recent":{"matched":2,"rejected":1}}`,
		`{` + acme0 + `,"webhook":"` + webhook + `","event":"evt_` + events[0] + `"}`:                                `{"matches":true,"recent":{"matched":2,"rejected":1}}`,
		`{` + acme0 + `,"webhook":"` + webhook + `","event":"evt_` + events[1] + `"}`:                                `{"matches":false,"recent":{"matched":2,"rejected":1}}`,
		`{` + acme0 + `,"tenant":"` + f.tenant + `","event":{"type":"contact.updated","data":{"company":"Acme 0"}}}`: `{"matches":true,"recent":{"matched":2,"rejected":1}}`,
		`{"filter":"data.x.y == 1","tenant":"` + f.tenant + `"}`:                                                     `"error":"line 1, column`,
		`{"filter":"data.compny == \"A\" || data.id == previous.company || type in [\"contact.created\", \"contact.create\"] || \"mail\" in changed || data.webhook.name == \"a\"","tenant":"` + f.tenant + `"}`: `"unknown":["data.compny","the type \"contact.create\"","\"mail\" in changed"]`,
		`{"filter":"` + strings.Repeat("lower(data.name) == '' || ", 25) + `false","tenant":"` + f.tenant + `","event":{"data":{"name":"` + strings.Repeat("a", 100_000) + `"}}}`:                                `{"matches":true,"error":"takes too many steps`,
		`{` + acme0 + `,"tenant":"` + other + `"}`: `{"matches":null,"recent":{"matched":0,"rejected":1}}`,
	} {
		got := admin.Do("POST", "/api/integrations/webhooks/preview-filter", body)
		if got.Status != 200 || !strings.Contains(string(got.Body), want) {
			t.Errorf("%s gives %d %s", body, got.Status, got.Body)
		}
	}
	for body, field := range map[string]string{
		`{"filter":"data.company","tenant":"` + f.tenant + `"}`:                      "filter",
		`{"filter":"","tenant":"` + f.tenant + `"}`:                                  "filter",
		`{"filter":"` + strings.Repeat("a", 1001) + `","tenant":"` + f.tenant + `"}`: "filter",
		`{` + acme0 + `}`:                                                      "tenant",
		`{` + acme0 + `,"tenant":"x"}`:                                         "tenant",
		`{` + acme0 + `,"tenant":"x","webhook":"x"}`:                           "tenant",
		`{` + acme0 + `,"webhook":"x"}`:                                        "webhook",
		`{` + acme0 + `,"tenant":"` + other + `","event":"` + events[0] + `"}`: "event",
		`{` + acme0 + `,"tenant":"` + f.tenant + `","event":7}`:                "event",
	} {
		got := admin.Do("POST", "/api/integrations/webhooks/preview-filter", body)
		if got.Status != 400 || !strings.Contains(string(got.Body), `"`+field+`":{`) {
			t.Errorf("%s gives %d %s", body, got.Status, got.Body)
		}
	}
}
