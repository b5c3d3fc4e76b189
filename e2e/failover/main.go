// Command failover demonstrates a failover on this machine: an S3 store, two servers, clients that write, a kill, and
// a count of the contacts. It takes half a minute.
//
//	go run ./e2e/failover
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"contactbase/internal/replica/fakes3"
)

const (
	lease   = 3 * time.Second
	writers = 4
)

func main() {
	if err := play(); err != nil {
		log.Fatal(err)
	}
}

// stage is the environment of the failover.
type stage struct {
	dir      string
	binary   string
	replica  string
	key      string // of the API
	machines []*machine

	mu    sync.Mutex
	acked map[string]bool // ids of the contacts whose creation was answered
}

// machine is a data directory and its server.
type machine struct {
	name, data, address string
	command             *exec.Cmd
}

func play() (err error) {
	s := &stage{acked: map[string]bool{}}
	if s.dir, err = os.MkdirTemp("", "contactbase-failover-"); err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(s.dir) }() // the system cleans up the rest
	fmt.Println("Building the program.")
	s.binary = filepath.Join(s.dir, "contactbase")
	if err := exec.Command("go", "build", "-o", s.binary, ".").Run(); err != nil { //nolint:noctx // it ends by itself
		return fmt.Errorf("building, which needs the folder of the sources: %w", err)
	}
	store := fakes3.New()
	defer store.Close()
	s.replica = store.URL("crm")
	defer s.end()
	if err := s.start(); err != nil {
		return err
	}
	return s.perform()
}

// start starts machine A, which serves, and machine B, the standby.
func (s *stage) start() error {
	for _, name := range []string{"A", "B"} {
		address, err := freeAddress()
		if err != nil {
			return err
		}
		s.machines = append(s.machines, &machine{name: name, data: filepath.Join(s.dir, name), address: address})
	}
	a, b := s.machines[0], s.machines[1]
	if _, err := s.run(a, "superuser", "upsert", "root@example.com", "not-a-secret"); err != nil {
		return err
	}
	tenant, err := s.run(a, "tenant", "create", "Acme", "--rateLimit", "1000000", "--json")
	if err != nil {
		return err
	}
	key, err := s.run(a, "key", "create", tenant["id"].(string), "--json")
	if err != nil {
		return err
	}
	s.key = key["key"].(string)
	fmt.Printf("Machine A serves, with --replicaMode=sync and --lease=%s.\n", lease)
	if err := errors.Join(s.serve(a), s.awaitReady(a), s.serve(b)); err != nil {
		return err
	}
	fmt.Println("Machine B stands by.")
	return nil
}

// perform kills machine A while clients write, and counts the contacts.
func (s *stage) perform() error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var all sync.WaitGroup
	for writer := range writers {
		all.Go(func() { s.write(ctx, writer) })
	}
	pause(5 * time.Second)
	a, b := s.machines[0], s.machines[1]
	fmt.Printf("%d contacts were created on A. Now A is killed.\n", s.count())
	began := time.Now()
	if err := a.command.Process.Kill(); err != nil {
		return err
	}
	if err := s.awaitReady(b); err != nil {
		return err
	}
	fmt.Printf("B serves, %s later.\n", time.Since(began).Round(100*time.Millisecond))
	pause(3 * time.Second)
	cancel()
	all.Wait()
	missing := 0
	for id := range s.acked {
		if status, _ := s.ask(context.Background(), b, http.MethodGet, "/"+id, "", ""); status != http.StatusOK {
			missing++
		}
	}
	fmt.Printf("%d contacts were created in all. %d of them are missing on B.\n", len(s.acked), missing)
	if missing > 0 {
		return errors.New("contacts are lost whose creation was answered")
	}
	return nil
}

// write creates contacts on either machine, each with one idempotency key, until ctx ends.
func (s *stage) write(ctx context.Context, writer int) {
	for n := 0; ctx.Err() == nil; n++ {
		name := fmt.Sprintf("person-%d-%d", writer, n)
		for at := 0; ctx.Err() == nil; at++ {
			status, answer := s.ask(ctx, s.machines[at%len(s.machines)], http.MethodPost, "", `{"name":"`+name+`"}`, name)
			if status == http.StatusCreated {
				s.mu.Lock()
				s.acked[answer["data"].(map[string]any)["id"].(string)] = true
				s.mu.Unlock()
				break
			}
			pause(10 * time.Millisecond)
		}
	}
}

func (s *stage) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.acked)
}

// ask returns the status 0 without a response.
func (s *stage) ask(ctx context.Context, m *machine, method, path, body, idempotencyKey string) (int, map[string]any) {
	request, err := http.NewRequestWithContext(ctx, method,
		"http://"+m.address+"/api/ext/v1/contacts"+path, strings.NewReader(body))
	if err != nil {
		return 0, nil
	}
	request.Header = http.Header{"X-Api-Key": {s.key}, "Content-Type": {"application/json"}}
	if idempotencyKey != "" {
		request.Header.Set("Idempotency-Key", idempotencyKey)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, nil
	}
	defer response.Body.Close()
	var answer map[string]any
	_ = json.NewDecoder(response.Body).Decode(&answer) // one that is not JSON is not a success
	return response.StatusCode, answer
}

// run runs a command on the data directory of a machine.
func (s *stage) run(m *machine, args ...string) (answer map[string]any, err error) {
	command := exec.Command(s.binary, append(args, "--dir", m.data)...) //nolint:noctx // it ends by itself
	command.Stderr = os.Stderr
	printed, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("contactbase %s: %w", strings.Join(args, " "), err)
	}
	_ = json.Unmarshal(printed, &answer) // not every command prints JSON
	return answer, nil
}

func (s *stage) serve(m *machine) error {
	//nolint:noctx // end kills it
	m.command = exec.Command(s.binary, "serve", "--dir", m.data, "--http", m.address,
		"--replica", s.replica, "--replicaMode", "sync", "--lease", lease.String())
	m.command.Env = append(os.Environ(), "AWS_ACCESS_KEY_ID=any", "AWS_SECRET_ACCESS_KEY=any")
	m.command.Stdout, m.command.Stderr = io.Discard, os.Stderr
	return m.command.Start()
}

// awaitReady waits until a machine serves, for at most half a minute.
func (s *stage) awaitReady(m *machine) error {
	for began := time.Now(); time.Since(began) < 30*time.Second; pause(50 * time.Millisecond) {
		response, err := http.Get("http://" + m.address + "/readyz") //nolint:noctx // it is on this machine
		if err != nil {
			continue
		}
		_ = response.Body.Close()
		if response.StatusCode == http.StatusOK {
			return nil
		}
	}
	return fmt.Errorf("machine %s does not serve", m.name)
}

func (s *stage) end() {
	for _, m := range s.machines {
		if m.command != nil {
			_ = m.command.Process.Kill() // it may have ended
			_ = m.command.Wait()
		}
	}
}

func freeAddress() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it is closed at once
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}

func pause(d time.Duration) { <-time.After(d) }
