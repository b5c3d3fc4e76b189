package e2e

import (
	"database/sql"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// sheetOf returns a file with that many contacts, as Excel writes it with semicolons. Every hundredth row is invalid.
func sheetOf(rows int) string {
	var b strings.Builder
	b.WriteString("\uFEFFNachname;E-Mail;externalId\r\n")
	for i := range rows {
		email := fmt.Sprintf("p%d@example.com", i)
		if i%100 == 0 {
			email = "nonsense"
		}
		fmt.Fprintf(&b, "Müller %d;%s;e%d\r\n", i, email, i)
	}
	return b.String()
}

// slowImports makes each chunk of an import count to a million, so that the test can interrupt it. The returned
// function undoes that.
func slowImports(t *testing.T, db *sql.DB) (hurryUp func()) {
	t.Helper()
	execute := func(statement string) {
		t.Helper()
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	execute("CREATE TRIGGER slow AFTER UPDATE OF position ON _imports BEGIN " +
		"SELECT count(*) FROM (SELECT 1 FROM sqlite_schema LIMIT 100), (SELECT 1 FROM sqlite_schema LIMIT 100), (SELECT 1 FROM sqlite_schema LIMIT 100); END")
	return func() {
		t.Helper()
		execute("DROP TRIGGER slow")
	}
}

// An import continues after each kill, and applies every row once: each contact has one event.
func TestImportSurvivesKills(t *testing.T) {
	t.Parallel()
	const rows = 10_000
	i, tenant := newTenant(t)
	db := openData(t, i.data)
	s := i.serve()
	admin := s.signIn()
	admin.header["Content-Type"] = "text/csv"
	id := str(t, admin.do(http.MethodPost, "/api/integrations/imports?name=contacts.csv&tenant="+tenant, sheetOf(rows)).data(), "id")
	admin.header["Content-Type"] = "application/json"
	path := "/api/integrations/imports/" + id
	hurryUp := slowImports(t, db)
	admin.do(http.MethodPost, path+"/start", `{"mapping":["name","email","externalId"],"match":"externalId"}`)
	for range 3 {
		last := count(t, db, "SELECT position FROM _imports")
		await(t, "more of the import", func() bool { return count(t, db, "SELECT position FROM _imports") > last })
		s.kill()
		if running := count(t, db, "SELECT count(*) FROM _imports WHERE status = 'running'"); running != 1 {
			t.Fatal("the kill came after the import")
		}
		s = s.again()
	}
	hurryUp()
	await(t, "the end of the import", func() bool { return admin.do(http.MethodGet, path, "").data()["status"] == "done" })
	counts := admin.do(http.MethodGet, path, "").data()["counts"].(map[string]any)
	if counts["created"] != float64(rows-rows/100) || counts["refused"] != float64(rows/100) || counts["updated"] != 0.0 {
		t.Errorf("the import did %v", counts)
	}
	events := admin.do(http.MethodGet, "/api/collections/events/records?perPage=1&fields=id", "").json()
	if events["totalItems"] != counts["created"] {
		t.Errorf("there are %v events", events["totalItems"])
	}
}

// The commands import and export, with and without a running server.
func TestContactCommands(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	i.must("tenant", "create", "Acme")
	folder := t.TempDir()
	file, refused, exported := filepath.Join(folder, "in.csv"), filepath.Join(folder, "refused.csv"), filepath.Join(folder, "out.csv")
	if err := os.WriteFile(file, []byte(sheetOf(300)), 0o600); err != nil {
		t.Fatal(err)
	}
	column := []string{"--column", "Nachname=name"}
	imported := func(more ...string) map[string]any {
		t.Helper()
		// which also says what it refuses, beside the answer
		got := i.run(append([]string{"contact", "import", "Acme", "--json"}, more...)...)
		answer := parse[map[string]any](t, got.stdout)
		if refuses := answer["refused"] != 0.0; got.code > 1 || refuses != (got.code == 1) {
			t.Fatalf("%v gives %+v", more, got)
		}
		return answer
	}
	if got := imported(append(column, file, "--dryRun")...); got["created"] != 297.0 || got["refused"] != 3.0 {
		t.Errorf("the dry run tells %v", got)
	}
	if got := imported(append(column, file, "--refused", refused)...); got["created"] != 297.0 || got["refused"] != 3.0 {
		t.Errorf("the import did %v", got)
	}
	if text, err := os.ReadFile(refused); err != nil || strings.Count(string(text), "\n") != 4 || !strings.Contains(string(text), `Müller 200;nonsense;e200;"email: `) {
		t.Errorf("the refused rows are %s (%v)", text, err)
	}
	if got := imported(append(column, refused, "--dryRun")...); got["rows"] != 3.0 || got["refused"] != 3.0 {
		t.Errorf("the refused rows come back as %v", got)
	}
	i.must("contact", "export", "Acme", exported, "--filter", "q=müller 29")
	if text, err := os.ReadFile(exported); err != nil || !strings.Contains(string(text), "Müller 299,p299@example.com") || strings.Contains(string(text), "Müller 1,") {
		t.Errorf("exported are %s (%v)", text, err)
	}
	if got := imported(exported, "--match", "email"); got["unchanged"] != got["rows"] || got["rows"] == 0.0 {
		t.Errorf("what was exported comes back as %v", got)
	}
	for _, wrong := range [][]string{
		{"contact", "import", "Acme", filepath.Join(folder, "none.csv")},
		{"contact", "import", "Nobody", file},
		{"contact", "import", "Acme", file, "--column", "Vorname=name"},
		{"contact", "import", "Acme", file, "--match", "name"},
		{"contact", "export", "Acme", exported, "--filter", "sort=x"},
	} {
		if got := i.run(wrong...); got.code == 0 {
			t.Errorf("%v succeeds: %s", wrong, got.stdout)
		}
	}
}

// The command runs its own import beside a server with another import. Both finish, and apply every row once.
func TestContactImportBesideTheServer(t *testing.T) {
	t.Parallel()
	const rows = 3_000
	i := newInstallation(t).superuser()
	acme := str(t, i.one("tenant", "create", "Acme"), "id")
	i.must("tenant", "create", "Other")
	file := filepath.Join(t.TempDir(), "in.csv")
	if err := os.WriteFile(file, []byte(sheetOf(rows)), 0o600); err != nil {
		t.Fatal(err)
	}
	admin := i.serve().signIn()
	admin.header["Content-Type"] = "text/csv"
	id := str(t, admin.do(http.MethodPost, "/api/integrations/imports?name=contacts.csv&tenant="+acme, sheetOf(rows)).data(), "id")
	admin.header["Content-Type"] = "application/json"
	path := "/api/integrations/imports/" + id
	admin.do(http.MethodPost, path+"/start", `{"mapping":["name","email","externalId"],"match":"externalId"}`)
	got := i.run("contact", "import", "Other", file, "--json", "--column", "Nachname=name")
	if got.code != 1 || parse[map[string]any](t, got.stdout)["created"] != rows*.99 { // because of the refused rows
		t.Errorf("the command gives %+v", got)
	}
	await(t, "the end of the server's", func() bool { return admin.do(http.MethodGet, path, "").data()["status"] == "done" })
	if n := admin.do(http.MethodGet, "/api/collections/events/records?perPage=1&fields=id", "").json()["totalItems"]; n != 2*rows*.99 {
		t.Errorf("there are %v events", n)
	}
}
