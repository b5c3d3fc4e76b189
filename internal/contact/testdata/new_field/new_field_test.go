package contact_test

import (
	"strings"
	"testing"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact"
	"contactbase/internal/fault"
	"contactbase/internal/inbound"
	"contactbase/internal/testkit"
)

// TestNewField runs in a copy of the module whose contacts have the field jobTitle.
func TestNewField(t *testing.T) {
	app := testkit.NewApp(t)
	records := 0
	count := func(e *core.RecordEvent) error {
		records++
		return e.Next()
	}
	app.OnRecordCreateExecute(contact.CollectionName).BindFunc(count)
	app.OnRecordUpdateExecute(contact.CollectionName).BindFunc(count)
	tenant := testkit.Tenant(t, app, "Acme")
	base := testkit.Serve(t, app)
	client := testkit.NewClient(t, base, testkit.Key(t, app, tenant))
	const contacts = "/api/ext/v1/contacts"

	created := client.Do("POST", contacts, `{"name":"Ada","jobTitle":" Countess "}`)
	if created.Status != 201 || created.Data()["jobTitle"] != "Countess" {
		t.Fatalf("creating answers %d %s", created.Status, created.Body)
	}
	refused := client.Do("POST", contacts, `{"name":"Ada","jobTitle":"`+strings.Repeat("x", 101)+`"}`)
	if refused.FieldCode("jobTitle") != fault.CodeTooLong {
		t.Errorf("a long title answers %d %s", refused.Status, refused.Body)
	}
	id, _ := created.Data()["id"].(string)
	updated := client.Do("PATCH", contacts+"/"+id, `{"jobTitle":"Analyst"}`)
	if updated.Status != 200 || updated.Data()["jobTitle"] != "Analyst" {
		t.Errorf("changing answers %d %s", updated.Status, updated.Body)
	}
	if read := client.Do("GET", contacts+"/"+id, ""); read.Data()["jobTitle"] != "Analyst" {
		t.Errorf("reading answers %d %s", read.Status, read.Body)
	}

	sender := testkit.NewClient(t, base, "")
	hook := "/api/hooks/" + testkit.Inbound(t, app, tenant, inbound.AccessUpsert, nil)
	received := sender.Do("POST", hook, `[{"name":"Grace","job-title":"Admiral"},{"name":"Mary","Job Title":"Writer"}]`)
	if received.Data()["created"] != 2.0 {
		t.Errorf("what a sender posts answers %d %s", received.Status, received.Body)
	}

	for query, want := range map[string]string{
		"q=analy":             "Ada",
		"q=countess":          "",
		"q=admiral+grace":     "Grace",
		"jobTitle=Writer":     "Mary",
		"sort=jobTitle":       "Grace Ada Mary",
		"sort=-jobTitle&q=ar": "Mary",
	} {
		if got := namesIn(client.Do("GET", contacts+"?"+query, "")); got != want {
			t.Errorf("%s lists %q, not %q", query, got, want)
		}
	}

	var payloads []string
	if err := app.DB().NewQuery("SELECT payload FROM events WHERE contact = {:id} ORDER BY id").Bind(map[string]any{"id": id}).Column(&payloads); err != nil {
		t.Fatal(err)
	}
	if len(payloads) != 2 || !strings.Contains(payloads[0], `"jobTitle":"Countess"`) ||
		!strings.Contains(payloads[1], `"jobTitle":"Analyst"`) || !strings.Contains(payloads[1], `"previous":{"jobTitle":"Countess"}`) {
		t.Errorf("the events are %s", payloads)
	}
	if records != 0 {
		t.Errorf("%d contacts were written through their records and not directly", records)
	}
}

// namesIn returns the names of the contacts in a list.
func namesIn(answer *testkit.Answer) string {
	var names []string
	data, _ := answer.JSON()["data"].([]any)
	for _, item := range data {
		object, _ := item.(map[string]any)
		name, _ := object["name"].(string)
		names = append(names, name)
	}
	return strings.Join(names, " ")
}
