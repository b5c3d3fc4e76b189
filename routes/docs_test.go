package routes_test

import (
	"encoding/json"
	"strings"
	"testing"

	"contactbase/internal/testkit"
)

// The document has the address that an admin entered, from the next request on.
func TestDocumentHasTheAddress(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	client := testkit.NewClient(t, testkit.Serve(t, app), "")
	for _, tc := range []struct{ entered, want string }{
		{"https://crm.example.com/", "https://crm.example.com"},
		{"https://contacts.example.org/sub", "https://contacts.example.org/sub"},
	} {
		app.Settings().Meta.AppURL = tc.entered
		if err := app.Save(app.Settings()); err != nil {
			t.Fatal(err)
		}
		answer := client.Do("GET", "/openapi.json", "")
		var document struct {
			OpenAPI string
			Servers []struct{ URL string }
		}
		if err := json.Unmarshal(answer.Body, &document); err != nil {
			t.Fatalf("%d %.80s: %v", answer.Status, answer.Body, err)
		}
		if document.OpenAPI != "3.1.0" || len(document.Servers) != 1 || document.Servers[0].URL != tc.want {
			t.Errorf("with the address %s the servers are %+v", tc.entered, document.Servers)
		}
	}
}

// A browser gets a page with the search where there is none. Programs, and all below the API, get JSON.
func TestMissingPages(t *testing.T) {
	t.Parallel()
	client := testkit.NewClient(t, testkit.Serve(t, testkit.NewApp(t)), "")
	const browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
	for _, tc := range []struct{ path, accept, kind, root string }{
		{"/docs/nope", browser, "text/html; charset=utf-8", `href="./../docs/assets/docs.css"`},
		{"/docs/nope/deeper", browser, "text/html; charset=utf-8", `href="./../../docs/assets/docs.css"`},
		{"/docs/clients/contactbase-9.9.9.tgz", browser, "text/html; charset=utf-8", "Page not found"},
		{"/docs/assets/nope.css", "text/css,*/*;q=0.1", "application/json", ""},
		{"/docs/nope", "*/*", "application/json", ""},
		{"/docs/nope", "", "application/json", ""},
		{"/docs/nope", "application/json, text/html;q=0", "application/json", ""},
		{"/api/nope", browser, "application/json", ""},
		{"/api/ext/v1/nope", browser, "application/json", ""},
		{"/mcp/nope", browser, "application/json", ""},
	} {
		client.Header.Set("Accept", tc.accept)
		answer := client.Do("GET", tc.path, "")
		if kind := answer.Header.Get("Content-Type"); answer.Status != 404 || kind != tc.kind || !strings.Contains(string(answer.Body), tc.root) {
			t.Errorf("%s for %q answers %d %s %.300s", tc.path, tc.accept, answer.Status, kind, answer.Body)
		}
	}
}

// The installation serves its clients, and names them with its own address for a language model.
func TestServedClients(t *testing.T) {
	t.Parallel()
	base := testkit.Serve(t, testkit.NewApp(t))
	client := testkit.NewClient(t, base, "")
	guide, forModels := string(client.Do("GET", "/docs/clients", "").Body), client.Do("GET", "/llms.txt", "")
	if kind := forModels.Header.Get("Content-Type"); forModels.Status != 200 || kind != "text/plain; charset=utf-8" || !strings.HasPrefix(string(forModels.Body), "# Contactbase\n") {
		t.Errorf("/llms.txt answers %d %s %.100s", forModels.Status, kind, forModels.Body)
	}
	for name, kind := range map[string]string{
		"contactbase-0.0.0-dev.tgz": "application/gzip", "contactbase-0.0.0-dev-go.zip": "application/zip",
		"contactbase-0.0.0.dev0-py3-none-any.whl": "application/zip",
	} {
		answer := client.Do("GET", "/docs/clients/"+name, "")
		if got := answer.Header.Get("Content-Type"); answer.Status != 200 || got != kind || len(answer.Body) < 5000 {
			t.Errorf("%s answers %d %s with %d bytes", name, answer.Status, got, len(answer.Body))
		}
		if !strings.Contains(guide, `href="clients/`+name+`"`) || !strings.Contains(string(forModels.Body), "("+base+"/docs/clients/"+name+")") {
			t.Errorf("the guide and llms.txt do not both lead to %s", name)
		}
	}
}
