package main

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	_ "modernc.org/sqlite" // to fill and to read databases
)

const (
	keyHeader   = "X-Api-Key"
	noRateLimit = 1_000_000_000 // requests a minute

	startTimeout  = time.Minute
	settleTimeout = 10 * time.Minute
)

// server is a process on a data directory.
type server struct {
	binary, dir string
	arguments   []string // after "serve --dir … --http …"
	environment []string

	base    string // such as http://127.0.0.1:8090
	command *exec.Cmd
	ready   time.Duration // from the start of the process to its first answer
}

// build compiles a package of this module.
func build(dir, name, pkg string) (path string, err error) {
	path = filepath.Join(dir, name)
	command := exec.Command("go", "build", "-trimpath", "-o", path, pkg)
	command.Env = append(os.Environ(), "CGO_ENABLED=0")
	command.Stderr = os.Stderr
	return path, command.Run()
}

// run runs a command on the data directory and returns what it prints.
func (s *server) run(arguments ...string) ([]byte, error) {
	command := exec.Command(s.binary, append(arguments, "--dir", s.dir)...)
	command.Env = s.variables()
	command.Stderr = os.Stderr
	out, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", strings.Join(arguments, " "), err)
	}
	return out, nil
}

// create runs "<noun> create …" and returns the property of the object that it prints.
func (s *server) create(property, noun string, arguments ...string) (string, error) {
	out, err := s.run(append([]string{noun, "create", "--json"}, arguments...)...)
	if err != nil {
		return "", err
	}
	var object map[string]any
	if err := json.Unmarshal(out, &object); err != nil {
		return "", err
	}
	return fmt.Sprint(object[property]), nil
}

// variables let webhooks reach the receivers of this program.
func (s *server) variables() []string {
	return append(append(os.Environ(), "CONTACTBASE_WEBHOOK_ALLOW=127.0.0.0/8"), s.environment...)
}

// member is a tenant and its key; plain PocketBase has no keys.
type member struct{ id, key string }

// auth returns the header that authenticates the tenant.
func (m member) auth() string {
	if m.key == "" {
		return ""
	}
	return keyHeader + ": " + m.key
}

// newMember makes a tenant and a key.
func (s *server) newMember() (m member, err error) {
	if m.id, err = s.create("id", "tenant", "Bench", "--rateLimit", strconv.Itoa(noRateLimit)); err != nil {
		return m, err
	}
	m.key, err = s.create("key", "key", m.id)
	return m, err
}

// start starts the server and waits for its first answer.
func (s *server) start() error {
	address, err := freeAddress()
	if err != nil {
		return err
	}
	s.base = "http://" + address
	s.command = exec.Command(s.binary, append([]string{"serve", "--dir", s.dir, "--http", address}, s.arguments...)...)
	s.command.Env = s.variables()
	s.command.Stderr = os.Stderr
	began := time.Now()
	if err := s.command.Start(); err != nil {
		return err
	}
	for time.Since(began) < startTimeout {
		if response, err := http.Get(s.base + "/api/health"); err == nil {
			response.Body.Close()
			s.ready = time.Since(began)
			return nil
		}
		time.Sleep(time.Millisecond)
	}
	s.stop()
	return fmt.Errorf("the server on %s does not answer", s.dir)
}

func freeAddress() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer listener.Close()
	return listener.Addr().String(), nil
}

func (s *server) stop() {
	_ = s.command.Process.Signal(syscall.SIGTERM)
	_ = s.command.Wait()
}

// ask sends one request and decodes the answer, unless into is nil.
func (s *server) ask(request call, into any) (http.Header, error) {
	c := connection{base: s.base}
	defer c.close()
	got, err := c.exchange(request)
	if err != nil || into == nil {
		return got.header, err
	}
	return got.header, json.Unmarshal(got.body, into)
}

// open opens the server's database, whether the server runs or not.
func (s *server) open() (*sql.DB, error) {
	db, err := sql.Open("sqlite", filepath.Join(s.dir, "data.db")+"?_pragma=busy_timeout(10000)&_pragma=synchronous(OFF)")
	if err == nil {
		db.SetMaxOpenConns(1)
	}
	return db, err
}

// memory returns the resident memory now and at its peak, in MiB.
func (s *server) memory() (now, peak int) {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.command.Process.Pid))
	for line := range strings.Lines(string(status)) {
		var kib int
		if n, _ := fmt.Sscanf(line, "VmRSS: %d", &kib); n == 1 {
			now = kib / 1024
		}
		if n, _ := fmt.Sscanf(line, "VmHWM: %d", &kib); n == 1 {
			peak = kib / 1024
		}
	}
	return now, peak
}

// cpu returns the processor time that the server has used: its clock of Linux, which is exact to less than 1 µs.
func (s *server) cpu() time.Duration {
	const processorTime = 2 // CPUCLOCK_SCHED
	var used unix.Timespec
	_ = unix.ClockGettime(int32(^s.command.Process.Pid<<3|processorTime), &used) // 0 after the server's end
	return time.Duration(used.Nano())
}

// settle waits until the server is idle: the search index follows the writes.
func (s *server) settle() error {
	for end := time.Now().Add(settleTimeout); time.Now().Before(end); {
		before := s.cpu()
		time.Sleep(time.Second)
		if s.cpu()-before <= 20*time.Millisecond {
			return nil
		}
	}
	return fmt.Errorf("the server on %s does not become idle", s.dir)
}
