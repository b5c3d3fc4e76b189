package e2e

import (
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A backup under load has no side effects: other processes can open and close the database, clients continue, and the
// server can be killed. It contains every contact that was acknowledged before it started.
func TestBackupUnderLoad(t *testing.T) {
	t.Parallel()
	c := newCrew(t)
	s := c.serve()
	wait := c.start(s)
	c.await(50)
	admin := s.signIn()
	backups := filepath.Join(c.data, "backups")
	answeredBefore := map[string]map[string]bool{} // by archive, the ids of contacts

	before := c.accepted()
	admin.expect(http.StatusNoContent, http.MethodPost, "/api/backups", `{"name":"route.zip"}`)
	answeredBefore[filepath.Join(backups, "route.zip")] = before

	c.await(50)
	before = c.accepted()
	made := c.one("backup", "command.zip")
	answeredBefore[str(t, made, "path")] = before

	c.await(50)
	if tenants := c.many("tenant", "list"); len(tenants) != 1 {
		t.Errorf("the tenants are %v", tenants)
	}
	c.shell("SELECT count(*) FROM contacts")
	c.await(50)
	c.shell("PRAGMA wal_checkpoint(PASSIVE)")
	if got := c.run("restore", filepath.Join(backups, "route.zip")); got.code == 0 {
		t.Errorf("a backup is restored into a folder that is being served: %s", got.stdout)
	}
	c.await(200)
	s.kill()
	wait()
	c.settle()

	for archive, ids := range answeredBefore {
		c.restores(archive, ids)
	}
}

// shell runs a statement in the shell of SQLite.
func (c *crew) shell(statement string) {
	c.t.Helper()
	path := findTool(c.t, "sqlite3")
	if path == "" {
		c.t.Log("without sqlite3 the test is weaker")
		return
	}
	command := exec.CommandContext(c.t.Context(), path, "-cmd", ".timeout 10000", filepath.Join(c.data, "data.db"), statement)
	if out, err := command.CombinedOutput(); err != nil || strings.TrimSpace(string(out)) == "" {
		c.t.Errorf("%s: %v %s", statement, err, out)
	}
}

// restores restores a backup into a new directory, and checks that a server has all of the contacts there.
func (c *crew) restores(archive string, ids map[string]bool) {
	c.t.Helper()
	if len(ids) == 0 {
		c.t.Fatal("nothing was acknowledged before the backup")
	}
	i := newInstallation(c.t)
	i.must("restore", archive)
	db := openData(c.t, i.data)
	if faults := append(integrity(c.t, db), searchFaults(c.t, db)...); len(faults) > 0 {
		c.t.Errorf("%s: %v", archive, faults)
	}
	checkWhole(c.t, db)
	if err := db.Close(); err != nil {
		c.t.Fatal(err)
	}
	client := i.serve().client(c.key)
	for id := range ids {
		client.expect(http.StatusOK, http.MethodGet, contactsPath+"/"+id, "")
	}
	if created := client.expect(http.StatusCreated, http.MethodPost, contactsPath, `{"name":"After"}`); created.data()["id"] == nil {
		c.t.Errorf("creating a contact returns %s", created)
	}
	c.t.Logf("%s restores with all %d contacts", filepath.Base(archive), len(ids))
}
