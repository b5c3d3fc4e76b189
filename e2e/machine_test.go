package e2e

import (
	"sync"
	"syscall"
	"time"
)

// machine is a data directory and the program, which a supervisor restarts whenever another machine has taken over.
type machine struct {
	*installation
	name    string
	address string

	mu      sync.Mutex
	process *server // nil before the first
	held    bool    // whether it is not started again
	exits   []int   // with which code it ended by itself
	over    sync.WaitGroup
}

// start starts the program, and restarts it each time it exits because another machine has taken over.
func (m *machine) start() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.held = false
	m.launch()
}

// launch is start for a caller that holds mu.
func (m *machine) launch() {
	p := m.serveAt(m.address)
	m.process = p
	m.over.Go(func() {
		<-p.ended
		m.mu.Lock()
		defer m.mu.Unlock()
		code := p.command.ProcessState.ExitCode()
		if m.process != p || m.held {
			return
		}
		m.exits = append(m.exits, code)
		m.launch()
	})
}

// signalOnly sends a signal to the program.
func (m *machine) signalOnly(s syscall.Signal) {
	m.t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.process.command.Process.Signal(s); err != nil {
		m.t.Fatal(err)
	}
}

// signal sends a signal to the program, which is not restarted after SIGKILL.
func (m *machine) signal(s syscall.Signal) {
	m.t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.held = s == syscall.SIGKILL
	if err := m.process.command.Process.Signal(s); err != nil {
		m.t.Fatal(err)
	}
}

func (m *machine) end() {
	m.mu.Lock()
	m.held = true
	p := m.process
	m.mu.Unlock()
	if p != nil {
		_ = p.command.Process.Kill() // it may have ended
		<-p.ended
		if m.t.Failed() {
			m.t.Logf("%s printed:\n%s", m.name, p.output)
		}
	}
	m.over.Wait()
}

// close stops the program like a supervisor, and waits for its end.
func (m *machine) close() {
	m.t.Helper()
	m.mu.Lock()
	m.held = true
	p := m.process
	m.mu.Unlock()
	p.stop()
}

// leave prevents restarts of the program, and returns its process.
func (m *machine) leave() (pid int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.held = true
	return m.process.command.Process.Pid
}

// awaitEnd waits until the program has ended.
func (m *machine) awaitEnd() {
	m.t.Helper()
	m.mu.Lock()
	p := m.process
	m.mu.Unlock()
	select {
	case <-p.ended:
	case <-time.After(timeout):
		m.t.Fatalf("machine %s did not end:\n%s", m.name, p.output)
	}
}

func (m *machine) await(text string) {
	m.t.Helper()
	m.mu.Lock()
	p := m.process
	m.mu.Unlock()
	p.await(text)
}

func (m *machine) exited(code int) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, exit := range m.exits {
		if exit == code {
			return true
		}
	}
	return false
}
