package migrations_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/pocketbase/pocketbase/core"
)

// The previous secret stays when the field for older ones comes and goes, and a moving tenant stays closed.
func TestOlderSecretsComeAndGo(t *testing.T) {
	t.Parallel()
	app := newFolder(t)
	execute(t, app, "INSERT INTO tenants (id, name, created, updated) VALUES ('t', 'Acme', '', '')")
	execute(t, app, "INSERT INTO webhooks (id, tenant, url, secret, previousSecret, previousSecretUntil, olderSecrets) VALUES "+
		"('w', 't', 'https://example.com', 'current', 'previous', '2026-01-01 00:00:00.000Z', 'older')")
	all := core.AppMigrations.Items()
	at := slices.IndexFunc(all, func(m *core.Migration) bool { return m.File == "1760000028_older_secrets.go" })
	look := func(what string, there bool) {
		t.Helper()
		webhooks, err := app.FindCollectionByNameOrId("webhooks")
		if err != nil {
			t.Fatal(err)
		}
		if field := webhooks.Fields.GetByName("olderSecrets"); (field != nil) != there || there && (!field.GetHidden() || !field.GetSystem()) {
			t.Errorf("%s, the field is %+v", what, field)
		}
		var row struct{ Secret, Previous, Until string }
		if err := app.DB().NewQuery("SELECT secret, previousSecret AS previous, previousSecretUntil AS until FROM webhooks").One(&row); err != nil {
			t.Fatal(err)
		}
		if row.Secret != "current" || row.Previous != "previous" || row.Until != "2026-01-01 00:00:00.000Z" {
			t.Errorf("%s, the webhook has %+v", what, row)
		}
	}
	look("at first", true)
	if err := app.RunInTransaction(all[at].Down); err != nil {
		t.Fatal(err)
	}
	look("without the field", false)
	if err := app.RunInTransaction(all[at].Up); err != nil {
		t.Fatal(err)
	}
	look("again", true)
	execute(t, app, "INSERT INTO _moves (tenant, state, created) VALUES ('t', 'frozen', '')")
	if _, err := app.DB().NewQuery("UPDATE webhooks SET secret = 'x'").Execute(); err == nil || !strings.Contains(err.Error(), "tenant_moving") {
		t.Errorf("a secret of a moving tenant changes: %v", err)
	}
}
