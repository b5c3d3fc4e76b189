package doctor_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/doctor"
	"contactbase/internal/testkit"
)

// newFolder returns an app on a data directory without problems, with one contact of each of two tenants.
func newFolder(t *testing.T) core.App {
	t.Helper()
	app := testkit.NewApp(t)
	app.Settings().Meta.SenderAddress = "crm@example.org"
	if err := app.Save(app.Settings()); err != nil {
		t.Fatal(err)
	}
	tenants := map[string]string{}
	for _, name := range []string{"Acme", "Beta"} {
		tenants[name] = testkit.Tenant(t, app, name)
		testkit.Webhook(t, app, tenants[name], "http://127.0.0.1:9/"+name, "")
	}
	for name, tenant := range tenants {
		testkit.Record(t, app, "contacts", map[string]any{"tenant": tenant, "name": name})
	}
	return app
}

// examine returns the findings that are not OK.
func examine(t *testing.T, app core.App, now time.Time) []string {
	t.Helper()
	findings, err := doctor.Examine(context.Background(), app.DataDir(), "", now)
	if err != nil {
		t.Fatal(err)
	}
	var faults []string
	for _, f := range findings {
		if f.Status != doctor.OK {
			faults = append(faults, fmt.Sprintf("%s %s: %s; %s", f.Check, f.Status, f.Found, f.Advice))
		}
	}
	return faults
}

// Each problem is found, alone, with advice.
func TestFindings(t *testing.T) {
	t.Parallel()
	const disabled = "UPDATE webhooks SET disabled = 1, disabledReason = 'it is gone' WHERE url LIKE '%Acme'"
	for name, tc := range map[string]struct {
		statement string
		ahead     time.Duration // of the time of the check
		want      string        // the starts of the findings, one a line, "" for none
		advice    string
	}{
		"nothing":                    {"SELECT 1", 0, "", ""},
		"a shipped index":            {"DROP INDEX idx_contacts_phone", 0, "schema failed: index idx_contacts_phone is missing", "CREATE INDEX `idx_contacts_phone`"},
		"a trigger":                  {"DROP TRIGGER _fanOutCursor_event_delete", 0, "schema failed: trigger _fanOutCursor_event_delete is missing", "CREATE TRIGGER"},
		"an index of an admin":       {"UPDATE _collections SET indexes = json_insert(indexes, '$[#]', 'CREATE INDEX `mine` ON `contacts` (`company`)') WHERE name = 'contacts'", 0, "schema failed: index mine is missing", "CREATE INDEX `mine`"},
		"a table":                    {"DROP TABLE _eventsGone", 0, "schema failed: table _eventsGone is missing", "restore a backup"},
		"the users":                  {"DELETE FROM _collections WHERE name = 'users'; DROP TABLE users", 0, "", ""},
		"a lost search row":          {"DELETE FROM _contactSearch WHERE text = 'acme' || char(10,10,10)", 0, "orphans failed: 1 rows of contacts whose id is not in _contactSearch", "with the API"},
		"a contact without a tenant": {"UPDATE contacts SET tenant = 'gone' WHERE name = 'Acme'", 0, "orphans failed: 1 rows of contacts whose tenant is not in tenants", "DELETE FROM contacts WHERE tenant NOT IN"},
		"a member without a tenant":  {"INSERT INTO tenant_members (id, tenant, tokenKey) VALUES ('m', 'gone', 'k')", 0, "orphans failed: 1 rows of tenant_members whose tenant is not in tenants", "DELETE FROM tenant_members WHERE tenant NOT IN"},
		"a notice of the operator":   {"INSERT INTO _notices VALUES ('n', 'disk.low', '', '1', '', '{}', '', ''), ('b', 'backup.failed', '', '1', '', '{}', '', ''), ('r', 'replica.behind', '', '1', '', '{}', '', '')", 0, "", ""},
		"a notice without a tenant":  {"INSERT INTO _notices VALUES ('n', 'webhook.failing', '', '1', 'gone', '{}', '', '')", 0, "orphans failed: 1 rows of _notices whose tenant is not in tenants", "tenant <> ''"},
		"a deletion":                 {"UPDATE contacts SET tenant = 'gone' WHERE name = 'Acme'; INSERT INTO _deletions VALUES ('tenants', 'gone', '', '')", 0, "orphans warning: data of 1 deleted records is still being removed", "let the server run"},
		"a row beside a deletion":    {"INSERT INTO _deletions VALUES ('tenants', 'gone', '', ''); INSERT INTO _stored VALUES ('lost', 1)", 0, "orphans warning: data of 1 deleted records is still being removed\norphans failed: 1 rows of _stored whose tenant is not in tenants", "DELETE FROM _stored"},
		"a delivery of nobody":       {"INSERT INTO deliveries (id, event, webhook, tenant, status) SELECT 'd', e.id, w.id, 'lost', 'delivered' FROM webhooks w JOIN events e ON e.tenant = w.tenant LIMIT 1", 0, "orphans failed: 1 rows of deliveries whose tenant is not in tenants", "DELETE FROM deliveries"},
		"a call with a deleted key":  {"INSERT INTO _keptCalls VALUES (1, 'gone', 0, '', '', '', 0, '', 0, '', ''), (2, '', 0, '', '', '', 0, '', 0, '', '')", 0, "orphans failed: 1 rows of _keptCalls whose key is not in api_keys", "DELETE FROM _keptCalls"},
		"a sign-in without a member": {"INSERT INTO _otps (id, recordRef, collectionRef) SELECT name, 'gone', id FROM _collections WHERE name IN ('tenant_members', 'users')", 0, "orphans failed: 1 rows of _otps whose recordRef is not in tenant_members", "DELETE FROM _otps"},
		"a clock that is slow":       {"SELECT 1", -time.Hour, "clock warning: the newest event is 1h0m0s ahead", "NTP"},
		"a disabled webhook":         {disabled, 0, "webhooks warning: ", "; contactbase webhook enable "},
		"a webhook disabled by hand": {"UPDATE webhooks SET disabled = 1", 0, "", ""},
		"events without deliveries":  {"SELECT 1", time.Hour, "deliveries warning: 2 events since ", "start the server"},
		"events without webhooks":    {"DELETE FROM webhooks", time.Hour, "", ""},
		"events for one webhook":     {"DELETE FROM webhooks WHERE url LIKE '%Acme'", time.Hour, "deliveries warning: 1 events since ", "start the server"},
		"text that is not UTF-8": {"UPDATE contacts SET externalId = CAST(x'4dfc6c6c6572' AS TEXT) WHERE name = 'Acme'", 0,
			"contacts failed: 1 contacts contain text that is not valid UTF-8: ", "correct these fields"},
		"a name of before": {"UPDATE contacts SET name = 'Écho' WHERE name = 'Acme'", 0, "names failed: 1 contacts are sorted by another name than their own: ", "_contactFolded"},
		"names to prepare": {"UPDATE _contactFolded SET last = 9", 0, "names warning: ", "let the server run"},
		"a frozen tenant": {"INSERT INTO _moves (tenant, state, created) SELECT id, 'frozen', '2026-01-31 12:00:00.000Z' FROM tenants WHERE name = 'Acme'", 0,
			"moves warning: tenants closed for writes: 1, the first since 2026-01-31T12:00:00.000Z", "tenant unfreeze"},
		"an incomplete tenant":     {"INSERT INTO _moves (tenant, state, created) VALUES ('t', 'arriving', '2026-01-31 12:00:00.000Z')", 0, "moves warning: tenants whose import is incomplete: 1", "--resume"},
		"an older data directory":  {"DELETE FROM _migrations WHERE file LIKE '%_fan_out_cursor.go'; DROP TRIGGER _fanOutCursor_event_delete; DROP TABLE _fanOutCursor", 0, "version warning: the data directory was written by an older version: ", "start the program"},
		"a sender of PocketBase's": {"UPDATE _params SET value = replace(value, 'crm@example.org', 'support@example.com') WHERE id = 'settings'", 0, "mail warning: The sender address of emails is still PocketBase's example", "change it in Settings"},
		"encrypted settings":       {"UPDATE _params SET value = 'sealed' WHERE id = 'settings'", 0, "", ""},
		"a newer data directory":   {"INSERT INTO _migrations VALUES ('1769000001_later.go', 1)", 0, "folder failed: ", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			app := newFolder(t)
			if _, err := app.NonconcurrentDB().NewQuery(tc.statement).Execute(); err != nil {
				t.Fatal(err)
			}
			faults := examine(t, app, time.Now().Add(tc.ahead))
			if tc.want == "" && len(faults) == 0 {
				return
			}
			wanted := strings.Split(tc.want, "\n")
			for n, fault := range faults {
				if len(faults) != len(wanted) || tc.want == "" || !strings.HasPrefix(fault, wanted[n]) {
					t.Fatalf("it finds %q", faults)
				}
			}
			if len(faults) == 0 || !strings.Contains(faults[len(faults)-1], tc.advice) {
				t.Errorf("it finds %q", faults)
			}
		})
	}
}

// A delivery that was attempted for hours shows its webhook as failing.
func TestFailingWebhook(t *testing.T) {
	t.Parallel()
	app := newFolder(t)
	for _, statement := range []string{
		"INSERT INTO deliveries (id, event, webhook, tenant, status, attempts, created) SELECT 'd1', e.id, w.id, w.tenant, 'pending', 3, e.created FROM webhooks w JOIN events e ON e.tenant = w.tenant WHERE w.url LIKE '%Acme'",
		"UPDATE _fanOutCursor SET event = (SELECT id FROM events ORDER BY rowid DESC LIMIT 1)",
	} {
		if _, err := app.NonconcurrentDB().NewQuery(statement).Execute(); err != nil {
			t.Fatal(err)
		}
	}
	if faults := examine(t, app, time.Now()); len(faults) > 0 {
		t.Errorf("at first it finds %q", faults)
	}
	faults := examine(t, app, time.Now().Add(2*time.Hour))
	if len(faults) != 1 || !strings.Contains(faults[0], "http://127.0.0.1:9/Acme) has accepted none of its pending deliveries") || !strings.Contains(faults[0], "webhook ping") {
		t.Errorf("it finds %q", faults)
	}
}

// Permissions for others, and an overwritten page.
func TestDamagedFolder(t *testing.T) {
	t.Parallel()
	app := newFolder(t)
	if _, err := app.NonconcurrentDB().NewQuery("PRAGMA wal_checkpoint(TRUNCATE)").Execute(); err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(t.TempDir(), "copy")
	if err := os.CopyFS(copied, os.DirFS(app.DataDir())); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(copied, "data.db"), 0o644); err != nil {
		t.Fatal(err)
	}
	file, err := os.OpenFile(filepath.Join(copied, "data.db"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.WriteAt([]byte(strings.Repeat("x", 3000)), 5*4096); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	findings, err := doctor.Examine(t.Context(), copied, "", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	status := map[string]string{}
	for _, f := range findings {
		status[f.Check] = f.Status + ": " + f.Found + "; " + f.Advice
	}
	if got := status["permissions"]; !strings.HasPrefix(got, doctor.Warning) || !strings.Contains(got, "data.db") {
		t.Errorf("it says of the permissions: %s", got)
	}
	if got := status["integrity"]; !strings.HasPrefix(got, doctor.Failed) || !strings.Contains(got, "restore") {
		t.Errorf("it says of the integrity: %s", got)
	}
}

// A directory that is not a data directory is an error, not a finding.
func TestMissingDataDirectory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := doctor.Examine(t.Context(), dir, "", time.Now()); err == nil || !strings.Contains(err.Error(), "is not a data directory") {
		t.Errorf("an empty folder gives %v", err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("it leaves %v behind: %v", entries, err)
	}
}
