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

// The samples of the guide do what it says, as they are printed.
func TestExtendingGuide(t *testing.T) {
	t.Parallel()
	i := newInstallation(t).superuser()
	i.must("tenant", "create", "Acme")
	key := str(t, i.one("key", "create", "Acme"), "key")
	samples := extensionSample.FindAllStringSubmatch(readText(t, "../docs/extending.md"), -1)
	if len(samples) != 5 {
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
	admin.expect(http.StatusOK, http.MethodPost, "/api/collections/orders/records", `{"tenant":"acme","total":5}`)
}
