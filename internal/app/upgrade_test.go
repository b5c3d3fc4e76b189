package app_test

import (
	"net/http"
	"slices"
	"testing"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/app"
	"contactbase/internal/testkit"
)

// A server that is upgrading its data directory answers reads. Writes, and reads of what does not exist yet, get a
// response that says to retry.
func TestReadsDuringAnUpgrade(t *testing.T) {
	t.Parallel()
	a := openEmpty(t, app.Config{})
	var before core.MigrationsList
	// the second looks into all tables, and the third drops one of them
	later := []string{"1760000019_feed.go", "1760000041_orphans.go", "1760000043_fan_out.go"}
	for _, migration := range core.AppMigrations.Items() {
		if !slices.Contains(later, migration.File) {
			before.Add(migration)
		}
	}
	if _, err := core.NewMigrationsRunner(a, before).Up(); err != nil {
		t.Fatal(err)
	}
	tenant := testkit.Tenant(t, a, "Acme")
	ada := testkit.Record(t, a, "contacts", map[string]any{"tenant": tenant, "name": "Ada"}).Id
	if err := a.Upgrade.Deferred().RunAllMigrations(); err != nil {
		t.Fatal(err)
	}
	client := testkit.NewClient(t, testkit.Serve(t, a), testkit.Key(t, a, tenant))
	const contacts, feed = "/api/ext/v1/contacts", "/api/ext/v1/events?after="
	look := func(when string, writing, reading int) {
		t.Helper()
		for _, tc := range []struct {
			method, path, body string
			status             int
		}{
			{"GET", contacts, "", http.StatusOK},
			{"GET", contacts + "?q=ada", "", http.StatusOK},
			{"GET", contacts + "/" + ada, "", http.StatusOK},
			{"GET", contacts + "/unknown", "", http.StatusNotFound},
			{"GET", feed, "", reading},
			{"POST", contacts, `{"name":"Eve"}`, writing},
		} {
			got := client.Do(tc.method, tc.path, tc.body)
			refused := got.Status == http.StatusServiceUnavailable && got.Code() == "unavailable" && got.Header.Get("Retry-After") != ""
			if got.Status != tc.status || got.Status >= 500 && !refused {
				t.Errorf("%s, %s %s is answered %d %s", when, tc.method, tc.path, got.Status, got.Body)
			}
		}
	}
	look("meanwhile", http.StatusServiceUnavailable, http.StatusServiceUnavailable)
	ready := make(chan struct{})
	a.Upgrade.Serve(&http.Server{ReadHeaderTimeout: 1}, func() { close(ready) })
	<-ready
	look("afterwards", http.StatusCreated, http.StatusOK)
}
