package integrations_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"contactbase/internal/event"
	"contactbase/internal/testkit"
)

// Webhooks take the event types of extensions. They keep one that is no longer declared, and say so.
func TestOwnEventsOfWebhooks(t *testing.T) {
	t.Parallel()
	app := testkit.NewDeliveringApp(t)
	for _, kind := range []string{"order.paid", "order.sent"} {
		if err := event.Declare(app, kind, "An order is "+kind); err != nil {
			t.Fatal(err)
		}
	}
	_, f := serve(t, app)
	admin := newAdmin(t, f)
	got := admin.Do("GET", "/api/integrations/event-types", "")
	if want := `{"data":[{"type":"order.paid","sentence":"An order is order.paid"},{"type":"order.sent","sentence":"An order is order.sent"}]}`; strings.TrimSpace(string(got.Body)) != want {
		t.Errorf("the event types are %d %s", got.Status, got.Body)
	}
	if got := testkit.NewClient(t, f.base, "").Do("GET", "/api/integrations/event-types", ""); got.Status != 401 {
		t.Errorf("a guest gets %d %s", got.Status, got.Body)
	}

	const records = "/api/collections/webhooks/records"
	bodies := make(chan string, 1)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		bodies <- r.Header.Get("X-Event") + string(body)
	}))
	t.Cleanup(receiver.Close)
	webhook := fmt.Sprintf(`{"tenant":%q,"url":%q,"events":`, f.tenant, receiver.URL)
	for _, list := range []string{
		`["order.lost"]`, `["contact.created","order.lost"]`, `["order.paid","contact.lost"]`, `["order.paid\u0000"]`, `["ORDER.PAID"]`, `["order"]`, `["' OR 1=1"]`,
	} {
		if got := admin.Do("POST", records, webhook+list+"}"); got.Status != 400 || !strings.Contains(string(got.Body), `"events":{"code":"validation_invalid_value"`) {
			t.Errorf("a webhook with the events %s is %d %s", list, got.Status, got.Body)
		}
	}
	created := admin.Do("POST", records, webhook+`["contact.created","order.paid","order.sent"]}`).JSON()
	path := records + "/" + created["id"].(string)
	events := func(answer map[string]any) string { return fmt.Sprint(answer["events"], answer["undeclaredEvents"]) }
	if got := events(created); got != "[contact.created order.paid order.sent] []" {
		t.Errorf("a new webhook has the events %s", got)
	}

	test := func(kind string) *testkit.Answer {
		return admin.Do("POST", "/api/integrations/webhooks/"+created["id"].(string)+"/ping", `{"type":"`+kind+`","body":{"data":{"total":5}}}`)
	}
	if got := test("order.paid"); got.Status != 200 {
		t.Errorf("a test is %d %s", got.Status, got.Body)
	} else if got := <-bodies; !strings.HasPrefix(got, `order.paid{"id":"evt_`) || !strings.HasSuffix(got, `"data":{"total":5}}`) {
		t.Errorf("a test sends %s", got)
	}
	if got := test("order.lost"); got.Status != 400 || !strings.Contains(string(got.Body), "order.paid, order.sent") {
		t.Errorf("a test of an unknown type is %d %s", got.Status, got.Body)
	}
	preview := admin.Do("POST", "/api/integrations/webhooks/preview-filter",
		fmt.Sprintf(`{"tenant":%q,"filter":"type in [\"order.paid\", \"order.lost\"] && data.total > 1","event":{"type":"order.paid","data":{"total":5}}}`, f.tenant))
	if got := string(preview.Body); !strings.Contains(got, `{"matches":true,`) || !strings.Contains(got, `"unknown":["the type \"order.lost\""]`) {
		t.Errorf("the preview of a filter is %s", got)
	}

	// the same data without the extension
	bare := testkit.Reopen(t, f.App)
	admin.Base = testkit.Serve(t, bare)
	if got := events(admin.Do("GET", path, "").JSON()); got != "[contact.created order.paid order.sent] [order.paid order.sent]" {
		t.Errorf("without the extension, the webhook has the events %s", got)
	}
	for _, change := range [][2]string{
		{`{"name":"renamed"}`, "[contact.created order.paid order.sent] [order.paid order.sent]"},
		{`{"events":["order.sent","contact.deleted"]}`, "[order.sent contact.deleted] [order.sent]"},
		{`{"events":["order.sent","order.paid"]}`, ""}, // it had been removed
		{`{"events":[]}`, "[] []"},
	} {
		got := admin.Do("PATCH", path, change[0])
		if refused := got.Status == 400; refused != (change[1] == "") || !refused && events(got.JSON()) != change[1] {
			t.Errorf("%s is %d %s", change[0], got.Status, got.Body)
		}
	}
}
