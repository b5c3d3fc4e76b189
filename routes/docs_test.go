package routes_test

import (
	"encoding/json"
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
