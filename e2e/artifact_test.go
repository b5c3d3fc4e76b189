//go:build linux

package e2e

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// distEnv is the environment variable with the directory of a release for this machine, as task release writes it.
const distEnv = "CONTACTBASE_E2E_DIST"

// stranger is the number of a user that owns nothing.
const stranger = "65532:65532"

// artifact returns the file of the release with that suffix.
func artifact(t *testing.T, ending string) string {
	t.Helper()
	dist := os.Getenv(distEnv)
	if dist == "" {
		lack(t, distEnv+" names no folder of a release: task release makes one")
	}
	found, err := filepath.Glob(filepath.Join(dist, "contactbase_*_linux_amd64"+ending))
	if err != nil || len(found) != 1 {
		t.Fatalf("%s has the files %v that end in %s, %v", dist, found, ending, err)
	}
	return found[0]
}

// needRoot skips the test for users that cannot use chroot.
func needRoot(t *testing.T) {
	t.Helper()
	if os.Getuid() != 0 {
		lack(t, "only root can change the root")
	}
}

// within returns the arguments that run a program in another root directory, as a user that owns nothing there.
func within(root, path string) []string {
	return []string{"chroot", "--userspec=" + stranger, root, path}
}

// From the download to the first verified event takes less than a minute, on a machine that has
// nothing but the archive.
func TestFirstMinute(t *testing.T) {
	t.Parallel()
	needRoot(t)
	archive := artifact(t, ".tar.gz")
	shop := httptest.NewServer(http.FileServer(http.Dir(filepath.Dir(archive))))
	defer shop.Close()
	r := newReceiver(t)
	root := t.TempDir()
	if err := errors.Join(os.Chmod(filepath.Dir(root), 0o755), os.Chown(root, 65532, 65532)); err != nil {
		t.Fatal(err)
	}

	began := time.Now()
	folder := download(t.Context(), t, shop.URL+"/"+filepath.Base(archive), root)
	i := &installation{t: t, data: "/pb_data", program: within(root, "/"+folder+"/contactbase")}
	i.superuser()
	i.must("tenant", "create", "Acme")
	key := str(t, i.one("key", "create", "Acme"), "key")
	r.set(str(t, i.one("webhook", "create", "Acme", r.URL), "secret"), nil)
	s := i.serve()
	s.client(key).expect(http.StatusCreated, http.MethodPost, contactsPath, `{"name":"Ada Lovelace"}`)
	event := r.await(t, "the receiver", atLeast(1))[0]
	if event.Error != "" || event.Name != "Ada Lovelace" {
		t.Errorf("the first event is %+v", event)
	}
	t.Logf("the first event is verified %s after the download began", time.Since(began).Round(time.Millisecond))
}

// download unpacks an archive into the root, and returns its directory.
func download(ctx context.Context, t *testing.T, address, root string) (folder string) {
	t.Helper()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	packed, err := gzip.NewReader(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	archive := tar.NewReader(packed)
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return folder
		}
		if err != nil {
			t.Fatal(err)
		}
		folder, _, _ = strings.Cut(header.Name, "/")
		content, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(root, header.Name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, content, header.FileInfo().Mode())); err != nil {
			t.Fatal(err)
		}
	}
}

// described lists where man and the shells of Debian and Fedora look.
var described = []string{
	"usr/share/man/man1/contactbase.1.gz", "usr/share/bash-completion/completions/contactbase", "usr/share/fish/vendor_completions.d/contactbase.fish",
	"usr/share/zsh/vendor-completions/_contactbase", "usr/share/zsh/site-functions/_contactbase",
}

// The Debian package installs, and systemd can start its units and has few objections to them.
func TestDebianPackage(t *testing.T) {
	t.Parallel()
	needRoot(t)
	for _, tool := range []string{"dpkg", "systemd-analyze"} {
		if findTool(t, tool) == "" {
			t.Skip("there is no " + tool)
		}
	}
	root := t.TempDir()
	dpkg := filepath.Join(root, "var/lib/dpkg")
	if err := errors.Join(os.MkdirAll(filepath.Join(dpkg, "info"), 0o755), os.MkdirAll(filepath.Join(dpkg, "updates"), 0o755),
		os.WriteFile(filepath.Join(dpkg, "status"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	do := func(name string, args ...string) string {
		t.Helper()
		got := finish(t, exec.CommandContext(t.Context(), name, args...))
		if got.code != 0 {
			t.Fatalf("%s %v exits with %d: %s%s", name, args, got.code, got.stdout, got.stderr)
		}
		return got.stdout + got.stderr
	}
	do("dpkg", "--root="+root, "--force-script-chrootless", "--log=/dev/null", "-i", artifact(t, ".deb"))
	i := &installation{t: t, data: "/pb_data", program: within(root, "/usr/bin/contactbase")}
	version := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(artifact(t, ".deb")), "contactbase_"), "_linux_amd64.deb")
	if got := finish(t, i.command(t.Context(), "--version")); got.stdout != "contactbase version "+version+"\n" {
		t.Errorf("what is installed says %q %s", got.stdout, got.stderr)
	}
	for _, path := range described {
		if info, err := os.Stat(filepath.Join(root, path)); err != nil || info.Mode().Perm() != 0o644 || info.Size() == 0 {
			t.Errorf("of what it installs for man and shells: %v, %v", info, err)
		}
	}
	if page := do("gzip", "-dc", filepath.Join(root, "usr/share/man/man1/contactbase-key-create.1.gz")); !strings.Contains(page, "contactbase key create Acme") {
		t.Errorf("the manual says %s", page)
	}
	units := filepath.Join(root, "usr/lib/systemd/system")
	do("cp", "--recursive", "--no-clobber", "/usr/lib/systemd/system/.", units) // the targets that the units name
	if said := do("systemd-analyze", "verify", "--man=no", "--root="+root, units+"/contactbase.service", units+"/contactbase.socket"); said != "" {
		t.Errorf("systemd-analyze says %s", said)
	}
	// of 100
	t.Log(lastLine(do("systemd-analyze", "security", "--offline=true", "--threshold=19", units+"/contactbase.service")))
	do("dpkg", "--root="+root, "--force-script-chrootless", "--log=/dev/null", "--purge", "contactbase")
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}
