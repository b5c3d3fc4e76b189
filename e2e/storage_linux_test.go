package e2e

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// On a full disk, writes are refused with an error that clients may retry, reads work, and nothing that was
// acknowledged is lost. Once there is space again, the same process continues.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	i := newInstallation(t).superuser()
	s := i.serve()
	c := s.client(str(t, i.one("key", "create", str(t, i.one("tenant", "create", "Acme"), "id")), "key"))
	admin := s.signIn()
	c.expect(http.StatusCreated, http.MethodPost, contactsPath, `{"name":"before"}`)

	fileSize(t, s, 1<<10) // less than a page: nothing can be written
	for path, by := range map[string]*client{contactsPath: c, "/api/collections/tenants/records": admin} {
		got := by.do(http.MethodPost, path, `{"name":"meanwhile"}`)
		if got.status != http.StatusServiceUnavailable || got.header.Get("Retry-After") == "" {
			t.Errorf("on a full disk %s returns %s, Retry-After %q", path, got, got.header.Get("Retry-After"))
		}
	}
	c.expect(http.StatusOK, http.MethodGet, contactsPath, "")
	c.expect(http.StatusOK, http.MethodGet, "/api/health", "")
	await(t, "not being ready", func() bool {
		got := c.do(http.MethodGet, "/readyz", "")
		return got.status == http.StatusServiceUnavailable && strings.Contains(string(got.body), `[{"check":"database","message":"the database takes no write: `)
	})
	c.expect(http.StatusOK, http.MethodGet, "/livez", "")

	fileSize(t, s, unix.RLIM_INFINITY)
	c.expect(http.StatusCreated, http.MethodPost, contactsPath, `{"name":"after"}`)
	await(t, "the end of not being ready", func() bool { return c.do(http.MethodGet, "/readyz", "").status == http.StatusOK })
	var names []string
	for _, contact := range parse[page](t, string(c.expect(http.StatusOK, http.MethodGet, contactsPath, "").body)).Data {
		names = append(names, *contact.Name)
	}
	if got := strings.Join(names, " "); got != "before after" {
		t.Errorf("the contacts are %q", got)
	}
}

// A write whose commit is on the disk but could not be synced is there after a kill, so the response does not say
// that nothing was written.
func TestFailedSync(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	s := i.serve()
	key := str(t, i.one("key", "create", str(t, i.one("tenant", "create", "Acme"), "id")), "key")
	if !failSyncs(t, s) {
		t.Skip("the test needs strace, and to be allowed to trace")
	}
	if got := s.client(key).do(http.MethodPost, contactsPath, `{"name":"Ada"}`); got.code() != "internal_error" {
		t.Errorf("a create that cannot be synced returns %s", got)
	}
	s.kill()
	s = s.again()
	if got := s.client(key).expect(http.StatusOK, http.MethodGet, contactsPath, ""); !strings.Contains(string(got.body), `"Ada"`) {
		t.Errorf("after a kill the contacts are %s: then it would be better to say that nothing was written", got)
	}
}

// failSyncs makes the server fail to sync files until it ends, or returns false if that is not possible here.
func failSyncs(t *testing.T, s *server) bool {
	t.Helper()
	if findTool(t, "strace") == "" {
		return false
	}
	strace := launch(t, exec.Command("strace", "-f", "-o", os.DevNull, "-e", "trace=fsync,fdatasync", "-e", "inject=fsync,fdatasync:error=EIO", "-p", strconv.Itoa(s.command.Process.Pid)))
	return strace.prints("attached")
}

// fileSize limits the size of the files that the server can write.
func fileSize(t *testing.T, s *server, most uint64) {
	t.Helper()
	limit := unix.Rlimit{Cur: most, Max: unix.RLIM_INFINITY}
	if err := unix.Prlimit(s.command.Process.Pid, unix.RLIMIT_FSIZE, &limit, nil); err != nil {
		t.Fatal(err)
	}
}

// The error for an unusable data directory names it with the cause, in one sentence.
func TestUnusableFolder(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	i.must("tenant", "create", "Acme")
	file := filepath.Join(filepath.Dir(i.data), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	lost := filepath.Join(filepath.Dir(i.data), "lost")
	(&installation{t: t, data: lost}).must("tenant", "create", "Acme")
	if err := os.Truncate(filepath.Join(lost, "data.db"), 0); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct{ limit, data, says string }{
		"a lost database":   {"unlimited", lost, "to start with an empty directory\n"},
		"a full disk":       {"0", i.data, "the data directory " + i.data + " cannot be written: file too large\n"},
		"a new one on it":   {"0", i.data + "2", "the data directory " + i.data + "2 cannot be written: file too large\n"},
		"almost full":       {"32", i.data + "3", "the data directory " + i.data + "3 cannot be written: file too large\n"},
		"a file":            {"unlimited", file, "the data directory " + file + " cannot be used: mkdir " + file + ": not a directory\n"},
		"a folder of files": {"unlimited", filepath.Join(file, "data"), "not a directory\n"},
	} {
		for _, args := range [][]string{{"serve", "--http", "127.0.0.1:0"}, {"tenant", "create", "Beta"}} {
			limited := append([]string{"-c", `ulimit -f "$1"; shift; exec "$@"`, "sh", tc.limit, binary(t)}, args...)
			command := exec.CommandContext(t.Context(), "sh", append(limited, "--dir="+tc.data)...)
			command.Env = testEnv()
			if got := finish(t, command); got.code != 1 || !strings.HasSuffix(got.stderr, tc.says) || !oneLine(got.stderr) {
				t.Errorf("%s: %v exits with %d and prints %q", name, args, got.code, got.stderr)
			}
		}
	}
}

// A restore without enough disk space fails, and leaves no partial database.
func TestRestoreOnFullDisk(t *testing.T) {
	t.Parallel()
	i := newInstallation(t).superuser()
	i.env = []string{"CONTACTBASE_REPLICA=file://" + t.TempDir()}
	s := i.serve()
	s.client(str(t, i.one("key", "create", str(t, i.one("tenant", "create", "Acme"), "id")), "key")).expect(http.StatusCreated, http.MethodPost, contactsPath, `{"name":"Ada"}`)
	s.stop() // which sends the rest
	folder := filepath.Join(t.TempDir(), "restored")
	restore := func(limit string) outcome {
		t.Helper()
		args := []string{"-c", `ulimit -f "$1"; shift; exec "$@"`, "sh", limit, binary(t), "replica", "restore", folder, "--dir=" + i.data}
		command := exec.CommandContext(t.Context(), "sh", args...)
		command.Env = testEnv(i.env...)
		return finish(t, command)
	}
	for _, limit := range []string{"0", "8", "512"} { // blocks of 512 bytes
		if got := restore(limit); got.code != 1 || !strings.Contains(got.stderr, "file too large") {
			t.Errorf("with %s blocks it exits with %d: %s%s", limit, got.code, got.stdout, got.stderr)
		}
		if left, err := filepath.Glob(filepath.Join(folder, "*")); err != nil || len(left) > 0 {
			t.Errorf("with %s blocks %q are left, %v", limit, left, err)
		}
	}
	if got := restore("unlimited"); got.code != 0 {
		t.Fatalf("with room it exits with %d: %s%s", got.code, got.stdout, got.stderr)
	}
	db := openData(t, folder)
	if faults := integrity(t, db); faults != nil || count(t, db, "SELECT count(*) FROM contacts") != 1 {
		t.Errorf("with room the database is damaged, or not complete: %q", faults)
	}
}
