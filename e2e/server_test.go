package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// process is a running program.
type process struct {
	t       *testing.T
	command *exec.Cmd
	output  *output // of stdout and stderr together
	ended   chan struct{}
	failure error // how it ended; to be read once ended is closed
}

// output collects what a process prints.
type output struct {
	mu      sync.Mutex
	text    bytes.Buffer
	changed chan struct{} // closed with the next write
}

func newOutput() *output { return &output{changed: make(chan struct{})} }

// Write appends to the output, and wakes waiters.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	close(o.changed)
	o.changed = make(chan struct{})
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// await waits until the output contains the text.
func (p *process) await(text string) {
	p.t.Helper()
	if !p.prints(text) {
		p.t.Fatalf("the program ended (%v) and did not print %q:\n%s", p.failure, text, p.output)
	}
}

// prints waits until the output contains the text, and returns false if the program ends before.
func (p *process) prints(text string) bool {
	p.t.Helper()
	return p.printsEnough(fmt.Sprintf("%q", text), func(printed string) bool { return strings.Contains(printed, text) })
}

// printsEnough waits until enough was printed, and returns false if the program ends before.
func (p *process) printsEnough(what string, enough func(printed string) bool) bool {
	p.t.Helper()
	deadline := time.After(timeout)
	for {
		p.output.mu.Lock()
		changed, found := p.output.changed, enough(p.output.text.String())
		p.output.mu.Unlock()
		if found {
			return true
		}
		select {
		case <-changed:
		case <-p.ended:
			return enough(p.output.String())
		case <-deadline:
			p.t.Fatalf("timed out waiting for %s:\n%s", what, p.output)
		}
	}
}

// launch starts the command, and kills it when the test ends.
func launch(t *testing.T, command *exec.Cmd) *process {
	t.Helper()
	p := &process{t: t, command: command, output: newOutput(), ended: make(chan struct{})}
	if command.Stdout == nil {
		command.Stdout, command.Stderr = p.output, p.output
	}
	command.WaitDelay = timeout // for what it has started itself and left behind
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		p.failure = command.Wait()
		close(p.ended)
	}()
	t.Cleanup(func() {
		_ = command.Process.Kill()
		<-p.ended
	})
	return p
}

// kill kills the process.
func (p *process) kill() {
	p.t.Helper()
	if err := p.command.Process.Kill(); err != nil {
		p.t.Fatal(err)
	}
	<-p.ended
}

// stop terminates the process, which must exit with 0. A server finishes requests and deliveries in flight first.
func (p *process) stop() {
	p.t.Helper()
	if err := p.command.Process.Signal(syscall.SIGTERM); err != nil {
		p.t.Fatalf("stopping: %v\n%s", err, p.output)
	}
	select {
	case <-p.ended:
		if p.failure != nil {
			p.t.Errorf("after SIGTERM the program ends with %v\n%s", p.failure, p.output)
		}
	case <-time.After(timeout):
		p.t.Errorf("the program does not end after SIGTERM\n%s", p.output)
		p.kill()
	}
}

// server is the server of an installation.
type server struct {
	*process
	base         string // without a slash at the end
	installation *installation
}

// serve starts the server of the installation on a free port until the test ends.
func (i *installation) serve(args ...string) *server {
	i.t.Helper()
	const attempts = 5 // between finding a free port and listening on it somebody else may take it
	for range attempts {
		address := freeAddress(i.t)
		s := i.serveAt(address, args...)
		if s.healthy() {
			i.t.Cleanup(s.end)
			return s
		}
		if !strings.Contains(s.output.String(), "address already in use") {
			i.t.Fatalf("the server does not start:\n%s", s.output)
		}
	}
	i.t.Fatal("no port is free")
	return nil
}

// serveAt starts the server of the installation at the address, and does not wait for it.
func (i *installation) serveAt(address string, args ...string) *server {
	i.t.Helper()
	all := append([]string{"serve", "--http", address, "--dir", i.data}, i.args...)
	command := i.command(context.Background(), append(all, args...)...) // a test that is over stops it by a signal
	return &server{launch(i.t, command), "http://" + address, i}
}

// again restarts a server that has ended, at the same address.
func (s *server) again() *server {
	s.t.Helper()
	next := s.installation.serveAt(strings.TrimPrefix(s.base, "http://"))
	if !next.healthy() {
		s.t.Fatalf("the server does not start again:\n%s", next.output)
	}
	s.t.Cleanup(next.end)
	return next
}

// end stops the server, unless the test has stopped it.
func (s *server) end() {
	select {
	case <-s.ended:
	default:
		s.stop()
	}
	if s.t.Failed() {
		s.t.Logf("the server printed:\n%s", s.output)
	}
}

// healthy waits until the server responds, and returns false if it ends before.
func (s *server) healthy() bool {
	s.t.Helper()
	deadline := time.After(timeout)
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for {
		if s.answers() {
			return true
		}
		select {
		case <-s.ended:
			return false
		case <-again.C:
		case <-deadline:
			s.t.Fatalf("the server does not respond:\n%s", s.output)
		}
	}
}

func (s *server) answers() bool {
	ctx, cancel := context.WithTimeout(s.t.Context(), 5*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.base+"/api/health", nil)
	if err != nil {
		s.t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return false
	}
	response.Body.Close()
	return response.StatusCode == http.StatusOK
}

// The ports of servers. They are below the ephemeral ports, which outgoing connections such as those of browsers use:
// such a connection could take the port before the server starts, or while it restarts.
const (
	firstPort = 10_000
	lastPort  = 32_767
)

// given has the ports that freeAddresses has returned.
var given sync.Map

// freeAddress returns a free address that no other test gets.
func freeAddress(t *testing.T) string {
	t.Helper()
	return freeAddresses(t, 1)[0]
}

// freeAddresses returns several free addresses.
func freeAddresses(t *testing.T, n int) (addresses []string) {
	t.Helper()
	for range lastPort - firstPort {
		if len(addresses) == n {
			return addresses
		}
		port := firstPort + rand.IntN(lastPort-firstPort+1)
		if _, taken := given.LoadOrStore(port, true); taken {
			continue
		}
		address := fmt.Sprintf("127.0.0.1:%d", port)
		listener, err := net.Listen("tcp", address)
		if err != nil {
			continue // somebody else has it
		}
		listener.Close()
		addresses = append(addresses, address)
	}
	t.Fatal("no port is free")
	return nil
}

// superuser creates a superuser of the installation. It must exist before the server starts, because PocketBase would
// otherwise open a browser.
func (i *installation) superuser() *installation {
	i.t.Helper()
	if _, err := os.Stat(i.data); errors.Is(err, fs.ErrNotExist) && i.program == nil {
		return i.copyOf(preparedFolders(i.t).superuser)
	}
	i.must("superuser", "upsert", superuserEmail, superuserPassword)
	return i
}

const (
	superuserEmail    = "root@example.com"
	superuserPassword = "a long password"
)

// signIn returns a client with the superuser's token.
func (s *server) signIn() *client {
	s.t.Helper()
	c := s.client("")
	answer := c.do(http.MethodPost, "/api/collections/_superusers/auth-with-password",
		fmt.Sprintf(`{"identity":%q,"password":%q}`, superuserEmail, superuserPassword))
	token, _ := answer.json()["token"].(string)
	if token == "" {
		s.t.Fatalf("signing in returns %s", answer)
	}
	c.header["Authorization"] = token
	return c
}
