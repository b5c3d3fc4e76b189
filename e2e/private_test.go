//go:build unix

package e2e

import (
	"errors"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Only the owner can read the files of the program, with any umask. The next start makes files private that
// others could read.
func TestDataIsPrivate(t *testing.T) {
	t.Parallel()
	i := newInstallation(t).superuser()
	backup := str(t, parse[map[string]any](t, i.permissive("backup", "--json").stdout), "path")
	checkPrivate(t, i.data)

	other := newInstallation(t)
	other.permissive("restore", backup)
	checkPrivate(t, other.data)

	fresh := newInstallation(t)
	fresh.permissive("tenant", "create", "Acme")
	checkPrivate(t, fresh.data)

	open(t, i.data)
	s := i.serve()
	s.signIn().expect(http.StatusNoContent, http.MethodPost, "/api/backups", `{"name":"served.zip"}`)
	checkPrivate(t, i.data)
}

// permissive runs a command that must succeed, with a umask that lets everyone read new files.
func (i *installation) permissive(args ...string) outcome {
	i.t.Helper()
	command := exec.CommandContext(i.t.Context(), "sh", append([]string{"-c", `umask 022; exec "$@"`, "sh", binary(i.t)}, append(args, "--dir="+i.data)...)...)
	command.Env = testEnv(i.env...)
	got := finish(i.t, command)
	if got.code != 0 {
		i.t.Fatalf("%v exits with %d: %s", args, got.code, got.stderr)
	}
	return got
}

// open lets everyone read the data directory, like earlier versions.
func open(t *testing.T, folder string) {
	t.Helper()
	eachFile(t, folder, func(path string, info fs.FileInfo) {
		if err := os.Chmod(path, info.Mode().Perm()|0o055); err != nil {
			t.Fatal(err)
		}
	})
}

// checkPrivate checks that others have no access to the data directory.
func checkPrivate(t *testing.T, folder string) {
	t.Helper()
	count := 0
	eachFile(t, folder, func(path string, info fs.FileInfo) {
		if count++; info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s is %s", path, info.Mode())
		}
	})
	if count < 4 {
		t.Errorf("%s holds %d files", folder, count)
	}
}

func eachFile(t *testing.T, folder string, do func(path string, info fs.FileInfo)) {
	t.Helper()
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		switch {
		case err == nil:
			do(path, info)
		case errors.Is(err, fs.ErrNotExist): // a server that runs has removed it
			return nil
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
