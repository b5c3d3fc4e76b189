// Package health reports to monitoring whether the program can do its work.
package health

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"contactbase/internal/wire"
)

// The paths of the health checks.
const (
	LivePath  = "/livez"
	ReadyPath = "/readyz"
)

const (
	validFor = time.Second     // how long a result is valid, so that many requests run the checks once
	timeout  = 3 * time.Second // how long a check may take
)

// Check is one thing that the program needs. Look returns an error whose text says what is wrong; anybody may read it.
type Check struct {
	Name string
	Look func(context.Context) error
}

// Reason is why the program is not ready.
type Reason struct {
	Check   string `json:"check"`
	Message string `json:"message"`
}

// Monitor runs the checks on request.
type Monitor struct {
	checks []*check

	// Warnings returns sentences about what will fail although the program is ready. Anybody may read them. Set it before
	// the monitor is used; nil for none.
	Warnings func() []string

	mu      sync.Mutex
	looking chan struct{} // closed when the running checks are done; nil if none are running
	reasons []Reason      // of the last run
	at      time.Time     // of the last run; zero before it
}

// check runs a check once at a time, so that a check that hangs leaves one goroutine behind.
type check struct {
	Check
	busy atomic.Bool
}

// NewMonitor returns a monitor that runs these checks.
func NewMonitor(checks ...Check) *Monitor {
	m := &Monitor{}
	for _, c := range checks {
		m.checks = append(m.checks, &check{Check: c})
	}
	return m
}

// Reasons returns why the program is not ready, nothing if it is ready. It takes about 3 s at most; the result
// may be a second old.
func (m *Monitor) Reasons() []Reason {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.at.IsZero() && time.Since(m.at) < validFor {
		return m.reasons
	}
	if m.looking == nil {
		m.looking = make(chan struct{})
		go m.look()
	}
	looking := m.looking
	m.mu.Unlock()
	<-looking
	m.mu.Lock()
	return m.reasons
}

// look runs all checks concurrently.
func (m *Monitor) look() {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	failures := make([]error, len(m.checks))
	var all sync.WaitGroup
	for i, c := range m.checks {
		all.Go(func() { failures[i] = c.ask(ctx) })
	}
	all.Wait()
	reasons := []Reason{}
	for i, err := range failures {
		if err != nil {
			reasons = append(reasons, Reason{m.checks[i].Name, err.Error()})
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.reasons, m.at = reasons, time.Now()
	close(m.looking)
	m.looking = nil
}

// ask runs the check and waits for it until ctx ends.
func (c *check) ask(ctx context.Context) error {
	if !c.busy.CompareAndSwap(false, true) {
		return errors.New("the previous check has not finished")
	}
	answer := make(chan error, 1)
	go func() {
		err := c.Look(ctx)
		c.busy.Store(false)
		answer <- err
	}()
	select {
	case err := <-answer:
		return err
	case <-ctx.Done():
		return fmt.Errorf("the check has not finished after %s", timeout)
	}
}

// ServeLive answers 200: the process is alive.
func ServeLive(w http.ResponseWriter, _ *http.Request) {
	write(w, http.StatusOK, map[string]string{"status": "alive"})
}

// ServeReady answers 200 if the program can do its work, and otherwise 503 with the reasons.
func (m *Monitor) ServeReady(w http.ResponseWriter, _ *http.Request) {
	answer := struct {
		Status   string   `json:"status"`
		Reasons  []Reason `json:"reasons"`
		Warnings []string `json:"warnings,omitempty"`
	}{"ready", m.Reasons(), nil}
	if m.Warnings != nil {
		answer.Warnings = m.Warnings()
	}
	status := http.StatusOK
	if len(answer.Reasons) > 0 {
		answer.Status, status = "not ready", http.StatusServiceUnavailable
	}
	write(w, status, answer)
}

func write(w http.ResponseWriter, status int, answer any) {
	encoded, err := wire.AppendJSON(nil, answer)
	if err != nil {
		panic("health: " + err.Error()) // unreachable: all strings
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(append(encoded, '\n')) // a client that has gone needs no response
}

var readyMetric = prometheus.NewDesc("contactbase_ready",
	"Whether a check of /readyz passes: 1 or 0.", []string{"check"}, nil)

// Describe implements prometheus.Collector.
func (m *Monitor) Describe(descriptions chan<- *prometheus.Desc) { descriptions <- readyMetric }

// Collect implements prometheus.Collector. It makes the checks.
func (m *Monitor) Collect(found chan<- prometheus.Metric) {
	holds := map[string]float64{}
	for _, c := range m.checks {
		holds[c.Name] = 1
	}
	for _, reason := range m.Reasons() {
		holds[reason.Check] = 0
	}
	for name, value := range holds {
		found <- prometheus.MustNewConstMetric(readyMetric, prometheus.GaugeValue, value, name)
	}
}
