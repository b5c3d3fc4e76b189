//go:build linux

package e2e

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// activated is a command that receives sockets like from systemd: from file descriptor 3 on, with the process id in
// its environment, which only the process itself knows.
func (i *installation) activated(sockets []*os.File, env ...string) *exec.Cmd {
	i.t.Helper()
	serve := []string{"-c", `LISTEN_PID=$$ exec "$@"`, "sh", binary(i.t), "serve", "--dir", i.data}
	command := exec.Command("sh", serve...)
	command.Dir = filepath.Dir(i.data)
	command.Env = testEnv(append(env, fmt.Sprintf("LISTEN_FDS=%d", len(sockets)))...)
	command.ExtraFiles = sockets
	return command
}

// listening returns a socket that stays open while programs that serve it start and end, and its address.
func listening(t *testing.T) (socket *os.File, base string) {
	t.Helper()
	listener, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	socket, err = listener.File()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = socket.Close() })
	return socket, "http://" + listener.Addr().String()
}

// Under load, on open and new connections, the program is restarted repeatedly: no request is refused, cut off, or
// executed without a response.
func TestRollingRestart(t *testing.T) {
	t.Parallel()
	const restarts, perServer = 4, 50 // answers, at least
	i := newInstallation(t).superuser()
	i.must("tenant", "create", "Acme", "--rateLimit", "1000000")
	key := str(t, i.one("key", "create", "Acme"), "key")
	socket, base := listening(t)

	r := &rush{t: t, over: make(chan struct{}), answered: make(chan struct{}, 1)}
	s := &server{launch(t, i.activated([]*os.File{socket})), base, i}
	for worker := range 8 {
		r.workers.Go(func() { r.create(base, key, worker) })
	}
	for range restarts {
		r.await(s.process, perServer)
		s.stop()
		s = &server{launch(t, i.activated([]*os.File{socket})), base, i}
	}
	r.await(s.process, perServer)
	close(r.over)
	r.workers.Wait()
	seen, err := walk(s.client(key), "cursor")
	if err != nil {
		t.Fatal(err)
	}
	if count := int(r.count.Load()); len(seen) != count {
		t.Errorf("there are %d contacts, and %d were answered", len(seen), count)
	}
	t.Logf("%d answers over %d restarts", r.count.Load(), restarts)
	s.stop()
}

// rush is clients that create contacts.
type rush struct {
	t        *testing.T
	workers  sync.WaitGroup
	over     chan struct{} // closed when there is enough
	count    atomic.Int64  // answers
	answered chan struct{} // has a value after an answer
}

// create creates one contact after another. Each request must succeed at the first attempt.
func (r *rush) create(base, key string, worker int) {
	transport := &http.Transport{DisableKeepAlives: worker%4 == 0}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, Timeout: timeout}
	for n := 0; ; n++ {
		select {
		case <-r.over:
			return
		default:
		}
		body := fmt.Sprintf(`{"name":"Person %d of %d"}`, n, worker)
		request, err := http.NewRequest(http.MethodPost, base+contactsPath, strings.NewReader(body))
		if err != nil {
			r.t.Error(err)
			return
		}
		request.GetBody = nil // what was sent is not sent again
		request.Header.Set("X-API-Key", key)
		request.Header.Set("Content-Type", "application/json")
		response, err := client.Do(request)
		if err != nil {
			r.t.Errorf("request %d of %d: %v", n, worker, err)
			return
		}
		if response.Body.Close(); response.StatusCode != http.StatusCreated {
			r.t.Errorf("request %d of %d returns %s", n, worker, response.Status)
			return
		}
		r.count.Add(1)
		select {
		case r.answered <- struct{}{}:
		default:
		}
	}
}

// await waits until the server has sent that many more responses.
func (r *rush) await(p *process, more int64) {
	r.t.Helper()
	deadline := time.After(timeout)
	for enough := r.count.Load() + more; r.count.Load() < enough && !r.t.Failed(); {
		select {
		case <-r.answered:
		case <-p.ended:
			r.t.Fatalf("the server ends: %v\n%s", p.failure, p.output)
		case <-deadline:
			r.t.Fatalf("there are but %d answers\n%s", r.count.Load(), p.output)
		}
	}
}

// The server notifies systemd when it is ready, that it is alive, and when it stops.
func TestNotify(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "notify")
	heard, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer heard.Close()
	i := newInstallation(t).superuser()
	i.env = []string{"NOTIFY_SOCKET=" + path, "WATCHDOG_USEC=200000"}
	messages := make(chan string, 10_000) // a socket keeps but a few for a test that waits for something else
	go func() {
		buffer := make([]byte, 1024)
		for n, err := heard.Read(buffer); err == nil; n, err = heard.Read(buffer) {
			messages <- string(buffer[:n])
		}
	}()
	next := func() string {
		t.Helper()
		select {
		case message := <-messages:
			return message
		case <-time.After(timeout):
			t.Fatal("systemd hears nothing")
			return ""
		}
	}
	s := i.serveAt(freeAddress(t))
	if got := next(); got != "READY=1" {
		t.Errorf("systemd hears %s first\n%s", got, s.output)
	}
	if !s.answers() {
		t.Errorf("the server is not ready\n%s", s.output)
	}
	for range 2 {
		if got := next(); got != "WATCHDOG=1" {
			t.Errorf("systemd hears %s, and not that the server works", got)
		}
	}
	s.stop()
	for {
		got := next()
		if got == "STOPPING=1" {
			return
		}
		if got != "WATCHDOG=1" {
			t.Fatalf("systemd hears %s at the end", got)
		}
	}
}

// Invalid sockets are refused with one sentence.
func TestUnfitSockets(t *testing.T) {
	t.Parallel()
	one, _ := listening(t)
	two, _ := listening(t)
	path := filepath.Join(t.TempDir(), "socket")
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	local, err := listener.File()
	if err != nil {
		t.Fatal(err)
	}
	defer local.Close()
	for says, sockets := range map[string][]*os.File{
		"systemd passes 2 sockets, but the server accepts one":                              {one, two},
		"the socket of systemd listens on " + path + ", but the server needs a TCP address": {local},
	} {
		i := newInstallation(t).superuser()
		got := finish(t, i.activated(sockets))
		if got.code != 1 || !strings.Contains(got.stderr, says) {
			t.Errorf("with %d sockets the program exits with %d: %s", len(sockets), got.code, got.stderr)
		}
	}
}

// A server that restarts its process, as PocketBase does to restore a backup, keeps the socket.
func TestActivatedRestore(t *testing.T) {
	t.Parallel()
	i := newInstallation(t).superuser()
	i.must("tenant", "create", "Before")
	socket, base := listening(t)
	s := &server{launch(t, i.activated([]*os.File{socket})), base, i}
	if !s.healthy() {
		t.Fatal(s.output)
	}
	admin := s.signIn()
	admin.expect(http.StatusNoContent, http.MethodPost, "/api/backups", `{"name":"before.zip"}`)
	i.must("tenant", "create", "After")
	admin.expect(http.StatusNoContent, http.MethodPost, "/api/backups/before.zip/restore", "")
	s.printsEnough("the second start", func(printed string) bool { return strings.Count(printed, "Contactbase serves") == 2 })
	if tenants := i.many("tenant", "list"); len(tenants) != 1 || !s.healthy() {
		t.Errorf("after the restore there are %v\n%s", tenants, s.output)
	}
	s.stop()
}
