//go:build unix

package e2e

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Commands that only work on an existing data directory do not create one: a misspelt path would look like lost data.
func TestCommandsMakeNoFolder(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"tenant", "list"}, {"key", "list"}, {"delivery", "list", "a"}, {"backup"}, {"doctor"}, {"restore", "nothing.zip"}} {
		i := newInstallation(t)
		got := i.run(args...)
		if got.code != 1 || !oneLine(got.stderr) || args[0] != "restore" && !strings.Contains(got.stderr, "is not a data directory") {
			t.Errorf("%v exits with %d and prints %q", args, got.code, got.stderr)
		}
		if _, err := os.Stat(i.data); !os.IsNotExist(err) {
			t.Errorf("%v leaves %s behind: %v", args, i.data, err)
		}
	}
	for code, args := range map[int][]string{0: {"--help"}, 1: {"tenant"}} {
		i := newInstallation(t)
		got := i.run(args...)
		if entries, err := os.ReadDir(filepath.Dir(i.data)); got.code != code || !strings.Contains(got.stdout+got.stderr, "Usage:") || err != nil || len(entries) > 0 {
			t.Errorf("%v exits with %d, leaves %v behind (%v) and prints %s", args, got.code, entries, err, got.stderr)
		}
	}
	i := newInstallation(t)
	got := finish(t, i.command(t.Context()))
	if entries, err := os.ReadDir(filepath.Dir(i.data)); got.code != 0 || err != nil || len(entries) > 0 {
		t.Errorf("without arguments it exits with %d and leaves %v behind (%v)", got.code, entries, err)
	}
}

// Commands that root runs in a directory do not leave files that its owner cannot write.
func TestRootLeavesFoldersAlone(t *testing.T) {
	t.Parallel()
	needRoot(t)
	i := newInstallation(t)
	if err := os.Mkdir(i.data, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(i.data, 65534, 65534); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"tenant", "create", "Acme"}, {"backup"}, {"doctor"}, {"restore", "nothing.zip"}, {"superuser", "upsert", "a@example.com", "a long password"}} {
		if got := i.run(args...); got.code != 1 || !strings.Contains(got.stderr, "belongs to") {
			t.Errorf("%v exits with %d and prints %q", args, got.code, got.stderr)
		}
	}
	if entries, err := os.ReadDir(i.data); err != nil || len(entries) > 0 {
		t.Errorf("there are %v (%v)", entries, err)
	}
}

// The directory of the demo is deleted when its terminal or the reader of its output closes.
func TestDemoEndsWithItsTerminal(t *testing.T) {
	t.Parallel()
	for _, signal := range []os.Signal{syscall.SIGHUP, syscall.SIGPIPE} {
		temp := t.TempDir()
		demo := exec.Command(binary(t), "demo", "--http", freeAddress(t))
		demo.Dir, demo.Env = t.TempDir(), testEnv("TMPDIR="+temp)
		p := launch(t, demo)
		p.await("appear here")
		if err := demo.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		<-p.ended
		if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
			t.Errorf("%v leaves %v behind (%v)", signal, left, err)
		}
	}
}

// A second server on a data directory says so, and does not change the address of the first one. The log shows
// why a server ended.
func TestSecondServerKeepsTheAddress(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	i.must("tenant", "create", "Acme")
	first := i.serve()
	second := i.serve()
	if !second.prints("another process serves this data directory") {
		t.Errorf("it prints\n%s", second.output)
	}
	second.stop()
	if printed := second.output.String(); !strings.Contains(printed, `msg=stopping reason="terminated signal received"`) {
		t.Errorf("after SIGTERM it prints\n%s", printed)
	}
	if url := str(t, i.one("inbound", "create", "Acme"), "url"); !strings.HasPrefix(url, first.base+"/") {
		t.Errorf("the address of an inbound webhook is %s, and the server is at %s", url, first.base)
	}
}

// A client that disconnects before the response is not a failure of the server.
func TestCallersThatHangUp(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	address := freeAddress(t)
	tenant := str(t, i.one("tenant", "create", "Acme"), "id")
	s := i.serve("--metricsAddr", address)
	c := s.client(str(t, i.one("key", "create", tenant), "key"))
	connection, err := net.Dial("tcp", strings.TrimPrefix(s.base, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = fmt.Fprintf(connection, "GET /api/ext/v1/events?wait=30 HTTP/1.1\r\nHost: localhost\r\nX-API-Key: %s\r\n\r\n", c.header["X-API-Key"])
	if err := errors.Join(err, connection.Close()); err != nil {
		t.Fatal(err)
	}
	if !s.prints("caller gone") || strings.Contains(s.output.String(), "request failed") {
		t.Errorf("it prints\n%s", s.output)
	}
	metrics := &client{t: t, base: "http://" + address, header: map[string]string{}, http: http.DefaultClient}
	var exposed string
	await(t, "the count of callers that are gone", func() bool {
		exposed = string(metrics.do(http.MethodGet, "/metrics", "").body)
		return strings.Contains(exposed, `status="499"`)
	})
	if strings.Contains(exposed, `status="503"`) {
		t.Error("the metrics count a failure")
	}
}
