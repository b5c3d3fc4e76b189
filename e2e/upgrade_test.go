package e2e

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// keptFolders has, for each released version, a backup of a data directory of that version, and what that version
// reported about it.
const keptFolders = "testdata/folders"

// kept is what a version reported about its data directory.
type kept struct {
	Key      string          `json:"key"`
	Webhook  string          `json:"webhook"`
	Secret   string          `json:"secret"`
	Contacts json.RawMessage `json:"contacts"` // the answer of the list
	Events   json.RawMessage `json:"events"`   // the oldest of the feed
}

// changing has the columns, by table, of rows that an upgrade otherwise leaves unchanged.
var changing = map[string][]string{
	"tenants": nil, "contacts": nil, "inbound_webhooks": {"lastUsed"}, "inbound_requests": nil, "events": nil, "deliveries": nil, "delivery_attempts": nil,
	"api_keys": {"lastUsed"}, "webhooks": {"url", "updated"}, "_contactSearch": {"indexed"}, "_inboundPeople": nil, "_superusers": nil,
	"tenant_members": nil, "audit_log": nil, "_notices": nil,
}

// A later version upgrades a data directory of this version and of each released one, after a backup, and can then
// read and write it. The earlier version opens the backup.
func TestUpgrades(t *testing.T) {
	t.Parallel()
	t.Run("this version", func(t *testing.T) {
		t.Parallel()
		archive, told := makeKept(t)
		u := newUpgraded(t, archive, told)
		u.upgrade()
		u.program = nil
		u.must("restore", u.backup)
		u.must("key", "list")
	})
	folders, err := filepath.Abs(keptFolders)
	if err != nil {
		t.Fatal(err)
	}
	archives, err := filepath.Glob(filepath.Join(folders, "*.zip"))
	if err != nil {
		t.Fatal(err)
	}
	for _, archive := range archives {
		version := strings.TrimSuffix(archive, ".zip")
		t.Run(filepath.Base(version), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(version + ".json")
			if err != nil {
				t.Fatal(err)
			}
			newUpgraded(t, archive, parse[kept](t, string(text))).upgrade()
		})
	}
}

// upgraded is an installation of an older version.
type upgraded struct {
	*installation
	kept         kept
	tablesBefore []string
	columns      map[string]string // that the older version has
	rowsBefore   map[string][]string
	backup       string // that the upgrade made
}

// newUpgraded restores a data directory for a later version.
func newUpgraded(t *testing.T, archive string, told kept) *upgraded {
	t.Helper()
	u := &upgraded{installation: newInstallation(t).later(), kept: told}
	u.env = []string{"CONTACTBASE_RETENTION_DAYS=36500"} // the rows are as old as the version
	u.must("restore", archive)
	u.tablesBefore, u.columns = u.tables(), u.comparedColumns()
	u.rowsBefore = u.rows(u.columns)
	return u
}

// comparedColumns returns the columns to compare of the tables in changing, as an SQL expression.
func (i *installation) comparedColumns() map[string]string {
	i.t.Helper()
	db := openData(i.t, i.data)
	defer db.Close()
	all := map[string]string{}
	for table, but := range changing {
		var shown []string
		for _, name := range column(i.t, db, "SELECT name FROM pragma_table_info('"+table+"') ORDER BY name") {
			if !slices.Contains(but, name) {
				shown = append(shown, "'"+name+"=' || quote(`"+name+"`)")
			}
		}
		all[table] = strings.Join(shown, " || ' ' || ")
	}
	return all
}

// rows returns the rows of tables.
func (i *installation) rows(columns map[string]string) map[string][]string {
	i.t.Helper()
	db := openData(i.t, i.data)
	defer db.Close()
	all := map[string][]string{}
	for table, shown := range columns {
		all[table] = column(i.t, db, "SELECT "+shown+" FROM "+table)
	}
	return all
}

// upgrade serves the data directory, compares it with what the older version reported and with its rows, and writes.
func (u *upgraded) upgrade() {
	u.t.Helper()
	s := u.serve()
	s.await("The data directory is up to date.")
	u.checkBackup(s.output.String())
	c := s.client(u.kept.Key)
	for path, want := range map[string]json.RawMessage{contactsPath: u.kept.Contacts, "/api/ext/v1/events?after=": u.kept.Events} {
		if got := c.expect(http.StatusOK, http.MethodGet, path, ""); string(got.body) != string(want) {
			u.t.Errorf("GET %s gives\n%s\ninstead of\n%s", path, got.body, want)
		}
	}
	r := newReceiver(u.t)
	r.set(u.kept.Secret, nil)
	s.signIn().expect(http.StatusOK, http.MethodPatch, "/api/collections/webhooks/records/"+u.kept.Webhook, `{"url":"`+r.URL+`"}`)
	c.expect(http.StatusCreated, http.MethodPost, contactsPath, `{"name":"Written later"}`)
	if d := r.await(u.t, "the receiver", atLeast(1))[0]; d.Error != "" || d.Name != "Written later" {
		u.t.Errorf("the receiver gets %+v", d)
	}
	s.stop()
	rows := u.rows(u.columns)
	u.checkRows("the upgrade", rows)
	if !strings.Contains(strings.Join(rows["contacts"], "\n"), "Written later") {
		u.t.Error("the upgraded data directory has no new contact")
	}
}

// checkBackup restores the backup that the upgrade names, and checks that it is the previous data directory.
func (u *upgraded) checkBackup(printed string) {
	u.t.Helper()
	_, after, _ := strings.Cut(printed, "backup: ")
	var found bool
	if u.backup, _, found = strings.Cut(after, " ("); !found {
		u.t.Fatalf("the upgrade names no backup:\n%s", printed)
	}
	i := newInstallation(u.t)
	i.must("restore", u.backup)
	if got := i.tables(); !slices.Equal(got, u.tablesBefore) {
		u.t.Errorf("the backup has the tables\n%s\ninstead of\n%s", strings.Join(got, "\n"), strings.Join(u.tablesBefore, "\n"))
	}
	u.checkRows("the backup", i.rows(u.columns))
}

func (u *upgraded) checkRows(what string, rows map[string][]string) {
	u.t.Helper()
	for table, before := range u.rowsBefore {
		for _, row := range before {
			if !slices.Contains(rows[table], row) {
				u.t.Errorf("%s changes %s: there is no row %s among\n%s", what, table, row, strings.Join(rows[table], "\n"))
			}
		}
	}
}

// A data directory of a newer version is refused, and the error says what to do.
func TestNewerFolder(t *testing.T) {
	t.Parallel()
	i := newInstallation(t).damaged("it pretends to be of a newer version")
	i.must("tenant", "create", "Acme")
	db := openData(t, i.data)
	if _, err := db.ExecContext(t.Context(), "INSERT INTO _migrations (file, applied) VALUES ('1769000001_later.go', 1)"); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"serve", "--http", freeAddress(t)}, {"tenant", "list"}} {
		got := i.run(args...)
		if got.code != 1 || !oneLine(got.stderr) || !strings.Contains(got.stderr, "was written by a newer version") || !strings.Contains(got.stderr, "restore a backup that was made before it") {
			t.Errorf("%v exits with %d and prints %s", args, got.code, got.stderr)
		}
	}
}

// The doctor finds no problem with a data directory that is in use, and finds a missing index.
func TestDoctor(t *testing.T) {
	t.Parallel()
	i := newInstallation(t).superuser().damaged("doctor must find an index that is dropped")
	c := i.serve().client(str(t, i.one("key", "create", str(t, i.one("tenant", "create", "Acme"), "id")), "key"))
	c.expect(http.StatusCreated, http.MethodPost, contactsPath, `{"name":"Ada"}`)
	for _, finding := range i.many("doctor") {
		// the disk may be rather full here, and nobody has set up mails
		if finding["status"] != "ok" && finding["check"] != "disk" && finding["check"] != "mail" {
			t.Errorf("it finds %v", finding)
		}
	}
	if _, err := openData(t, i.data).ExecContext(t.Context(), "DROP INDEX idx_contacts_phone"); err != nil {
		t.Fatal(err)
	}
	got := i.run("doctor")
	if got.code != 1 || !strings.Contains(got.stdout, "index idx_contacts_phone is missing") || !oneLine(got.stderr) || !strings.Contains(got.stderr, "1 of the checks of ") {
		t.Errorf("it exits with %d and prints %s%s", got.code, got.stdout, got.stderr)
	}
	if got := newInstallation(t).run("doctor"); got.code != 1 || !strings.Contains(got.stderr, "is not a data directory") || !oneLine(got.stderr) {
		t.Errorf("where there is no folder it exits with %d and prints %s%s", got.code, got.stdout, got.stderr)
	}
}
