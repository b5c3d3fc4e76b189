package routes_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"contactbase/internal/delivery"
	"contactbase/internal/testkit"
)

// A test event of a chosen type arrives signed, with an id, type and time of its own, and leaves nothing behind.
func TestSampleEvent(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	const secret = "a long secret"
	arrived := make(chan *http.Request, 1)
	var body []byte
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, request *http.Request) {
		body, _ = io.ReadAll(request.Body)
		arrived <- request
	}))
	t.Cleanup(receiver.Close)
	ping := "/api/integrations/webhooks/" + testkit.Webhook(t, i.f.App, i.f.tenant, receiver.URL, secret) + "/ping"
	admin := newAdmin(t, i.f)

	for request, field := range map[string]string{
		`{"type":"contact.nothing","body":{}}`:   "type",
		`{"body":{}}`:                            "type",
		`{"type":"contact.created"}`:             "body",
		`{"type":"contact.created","body":[]}`:   "body",
		`{"type":"contact.created","body":null}`: "body",
		`{"type":"contact.created","body":{"data":"` + strings.Repeat("x", 64<<10) + `"}}`: "body",
	} {
		got := admin.Do("POST", ping, request)
		if got.Status != http.StatusBadRequest || got.Code() != "validation_failed" || !strings.Contains(string(got.Body), `"`+field+`"`) {
			t.Errorf("%.60s gives %d %s", request, got.Status, got.Body)
		}
	}

	got := admin.Do("POST", ping, `{"type":"contact.updated","body":{"id":"mine","previous":{"name":"<Ada>"},"data":{"n":1.50}}}`)
	if got.Status != http.StatusOK || got.Data()["status"] != 200.0 {
		t.Fatalf("a sample gives %d %s", got.Status, got.Body)
	}
	header := (<-arrived).Header
	var sent struct{ ID, Type, Timestamp string }
	if err := json.Unmarshal(body, &sent); err != nil {
		t.Fatal(err)
	}
	if sent.ID != header.Get("webhook-id") || !strings.HasPrefix(sent.ID, "evt_") || sent.Type != "contact.updated" || sent.Timestamp == "" ||
		!strings.HasSuffix(string(body), `,"data":{"n":1.50},"previous":{"name":"<Ada>"}}`) {
		t.Errorf("the body is %s", body)
	}
	if header.Get("X-Event") != "contact.updated" || header.Get("X-Signature") != delivery.Sign(secret, body) {
		t.Errorf("the headers are %v", header)
	}
	for _, table := range []string{"events", "deliveries", "delivery_attempts", "contacts"} {
		if n, err := i.f.App.CountRecords(table); err != nil || n != 0 {
			t.Errorf("%s has %d rows (%v)", table, n, err)
		}
	}
}
