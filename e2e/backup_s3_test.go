package e2e

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"contactbase/internal/replica/fakes3"
)

// Backups in a bucket are made under load, listed, downloaded and restored. An unreachable store is reported clearly.
func TestBackupsInABucket(t *testing.T) {
	t.Parallel()
	store := fakes3.New()
	t.Cleanup(store.Close)
	c := newCrew(t)
	s := c.serve()
	admin := s.signIn()
	const key, secret = "backup-key", "backup-secret-that-nobody-sees"
	admin.expect(http.StatusOK, http.MethodPatch, "/api/settings", fmt.Sprintf(
		`{"backups":{"s3":{"enabled":true,"bucket":%q,"region":"us-east-1","endpoint":%q,"accessKey":%q,"secret":%q,"forcePathStyle":true}}}`,
		fakes3.Bucket, store.Endpoint(), key, secret))
	wait := c.start(s)
	c.await(50)
	before := c.accepted()
	admin.expect(http.StatusNoContent, http.MethodPost, "/api/backups", `{"name":"first.zip"}`)
	c.await(50)
	store.SetAway(true)
	refused := admin.do(http.MethodPost, "/api/backups", `{"name":"second.zip"}`)
	if refused.status < 400 || strings.Contains(string(refused.body), secret) {
		t.Errorf("a backup into an unreachable store returns %s", refused)
	}
	command := c.run("backup", "third.zip")
	if command.code == 0 || !strings.Contains(command.stderr, "503") || strings.Contains(command.stderr, secret) {
		t.Errorf("the command says %d %s", command.code, command.stderr)
	}
	store.SetAway(false)
	c.await(50)
	listed := string(admin.expect(http.StatusOK, http.MethodGet, "/api/backups", "").body)
	if !strings.Contains(listed, `"first.zip"`) || strings.Contains(listed, "second.zip") {
		t.Errorf("the backups are %s", listed)
	}
	token := str(t, admin.expect(http.StatusOK, http.MethodPost, "/api/files/token", "").json(), "token")
	fetched := admin.expect(http.StatusOK, http.MethodGet, "/api/backups/first.zip?token="+token, "")
	s.stop()
	wait()
	archive := filepath.Join(t.TempDir(), "first.zip")
	if err := os.WriteFile(archive, fetched.body, 0o600); err != nil {
		t.Fatal(err)
	}
	c.restores(archive, before)
	if left, err := filepath.Glob(filepath.Join(c.data, "backups", "*")); err != nil || len(left) > 0 {
		t.Errorf("on this machine %q is left, %v", left, err)
	}
}
