package e2e

import (
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
)

// extensionSample matches a sample of the guide with the path of its file.
var extensionSample = regexp.MustCompile("(?s)<!-- sample: (\\S+) -->\n```js\n(.*?)```")

// goSample matches a sample in Go, with the name of its file in examples/extended.
var goSample = regexp.MustCompile("(?s)<!-- sample: (\\S+\\.go) -->\n```go\n(.*?)```")

// The samples of the guide do what it says, as they are printed.
func TestExtendingGuide(t *testing.T) {
	t.Parallel()
	i := newInstallation(t).superuser()
	tenant := str(t, i.one("tenant", "create", "Acme"), "id")
	key := str(t, i.one("key", "create", "Acme"), "key")
	r := newReceiver(t)
	r.set(str(t, i.one("webhook", "create", "Acme", r.URL, "--event", "order.paid"), "secret"), nil)
	samples := extensionSample.FindAllStringSubmatch(readText(t, "../docs/extending.md"), -1)
	if len(samples) != 6 {
		t.Fatalf("the guide has %d samples", len(samples))
	}
	for _, found := range samples {
		i.script(found[1], found[2])
	}
	messages := make(chan string, 1)
	slack := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		messages <- string(body)
	}))
	t.Cleanup(slack.Close)
	i.env = append(i.env, "SLACK_WEBHOOK="+slack.URL)
	if got := i.run("migrate", "up"); got.code != 0 {
		t.Fatalf("the migration: %s", got.stderr)
	}
	s := i.serve()
	c := s.client(key)

	refused := c.expect(http.StatusBadRequest, http.MethodPost, contactsPath, `{"name":"Ada","email":"ada@mailinator.com"}`)
	if got := string(refused.body); refused.code() != "validation_failed" || !strings.Contains(got, `"email":{"code":`) {
		t.Errorf("the rule: %s", got)
	}
	created := c.expect(http.StatusCreated, http.MethodPost, contactsPath, `{"name":"Ada","email":"ada@engines.example"}`)
	if got := created.data()["company"]; got != "engines" {
		t.Errorf("the enrichment: the company is %v", got)
	}
	if got := <-messages; got != `{"text":"New contact: Ada"}` {
		t.Errorf("the message: %s", got)
	}
	admin := s.signIn()
	if got := admin.expect(http.StatusOK, http.MethodGet, "/api/company/engines", "").json()["contacts"]; got != 1.0 {
		t.Errorf("the route counts %v", got)
	}
	order := admin.expect(http.StatusOK, http.MethodPost, "/api/collections/orders/records",
		`{"tenant":"`+tenant+`","contact":"`+str(t, created.data(), "id")+`","total":49.9}`)
	orderIsSent(t, r, order)
	refused = admin.do(http.MethodPost, "/api/collections/orders/records", `{"tenant":"acme","total":5}`)
	if refused.status != http.StatusBadRequest || admin.do(http.MethodGet, "/api/collections/orders/records", "").json()["totalItems"] != 1.0 {
		t.Errorf("an order of no tenant: %s", refused)
	}
}

// orderIsSent checks that the receiver has got the event of an order, and nothing else.
func orderIsSent(t *testing.T, r *receiver, order *answer) {
	t.Helper()
	sent := r.await(t, "order.paid", atLeast(1))
	if got := sent[0]; len(sent) != 1 || got.Type != "order.paid" || got.Error != "" || got.Contact != str(t, order.json(), "id") {
		t.Errorf("after %s the receiver has %+v", order, sent)
	}
}
