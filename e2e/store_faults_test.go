package e2e

import (
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"contactbase/internal/replica/fakes3"
)

// storeFaults are the ways in which a real store, or a proxy in front of it, fails. Each changes a response,
// or sends its own.
var storeFaults = []struct {
	name  string
	fault func(w http.ResponseWriter, request *http.Request, next http.Handler)
}{
	{"404 without a body", answers(http.StatusNotFound, "")},
	{"404 with the body of S3", answers(http.StatusNotFound, "<Error><Code>NoSuchUpload</Code><Message>The specified upload does not exist.</Message></Error>")},
	{"500", answers(http.StatusInternalServerError, "<Error><Code>InternalError</Code></Error>")},
	{"403", answers(http.StatusForbidden, "<Error><Code>AccessDenied</Code></Error>")},
	{"503", answers(http.StatusServiceUnavailable, "<Error><Code>SlowDown</Code></Error>")},
	{"drop before", func(http.ResponseWriter, *http.Request, http.Handler) { panic(http.ErrAbortHandler) }},
	{"drop after", func(_ http.ResponseWriter, request *http.Request, next http.Handler) {
		next.ServeHTTP(httptest.NewRecorder(), request)
		panic(http.ErrAbortHandler)
	}},
	{"half an answer", func(w http.ResponseWriter, request *http.Request, next http.Handler) {
		whole := httptest.NewRecorder()
		next.ServeHTTP(whole, request)
		for name, values := range whole.Header() {
			w.Header()[name] = values
		}
		body := whole.Body.Bytes()
		w.Header().Set("Content-Length", strconv.Itoa(len(body)+1)) // also of an answer without a body
		w.WriteHeader(whole.Code)
		_, _ = w.Write(body[:len(body)/2])
		panic(http.ErrAbortHandler)
	}},
	{"a delay", func(w http.ResponseWriter, request *http.Request, next http.Handler) {
		select {
		case <-request.Context().Done():
		case <-time.After(clusterLease / 5):
		}
		next.ServeHTTP(w, request)
	}},
}

func answers(status int, body string) func(http.ResponseWriter, *http.Request, http.Handler) {
	return func(w http.ResponseWriter, request *http.Request, _ http.Handler) {
		_, _ = io.Copy(io.Discard, request.Body)
		w.Header().Set("Content-Type", "application/xml")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// ends are the ways in which the machine that serves stops.
var ends = []struct {
	name string
	end  func(*machine)
}{
	{"kill", func(m *machine) { m.signal(syscall.SIGKILL) }},
	{"stop", func(m *machine) {
		m.leave()
		m.signalOnly(syscall.SIGTERM)
	}},
	{"pause", func(m *machine) { m.signal(syscall.SIGSTOP) }},
}

// sampled has the combinations of a single round.
var sampled = map[string]bool{"404 without a body, and a kill": true, "half an answer, and a stop": true, "drop after, and a pause": true}

// realStoreFaults are those of a real store while a machine that has taken over is itself taken over from. Requests
// for the lock record fail less often, because a machine must read it before it serves.
func realStoreFaults() (all []fault) {
	for _, s := range storeFaults {
		for _, e := range ends {
			name := s.name + ", and a " + e.name
			all = append(all, fault{name: name, machines: 2, real: true, sampled: sampled[name], happens: func(c *cluster) *machine {
				a, b := c.takenOver()
				c.awaitMore(20, b)
				if c.mode == "async" { // which promises nothing about what was not sent yet
					c.settle(b)
				}
				broken := c.breakStore(s.fault)
				e.end(b)
				await(c.t, "faults during a takeover", func() bool { return broken.Load() >= 20 })
				c.store.Break(nil)
				c.awaitServing(a)
				if c.mode == "async" {
					c.nothingMissing(a, b)
				}
				if e.name == "pause" {
					b.signal(syscall.SIGCONT)
				}
				if c.resume != nil {
					c.resume()
				}
				c.awaitMore(20, a)
				return a
			}})
		}
	}
	return all
}

// breakStore makes two of three requests fail, and one of six about the lease. It returns the number of faults.
func (c *cluster) breakStore(happens func(http.ResponseWriter, *http.Request, http.Handler)) (broken *atomic.Int64) {
	broken = &atomic.Int64{}
	c.store.Break(fakes3.Fault(func(w http.ResponseWriter, request *http.Request, next http.Handler) bool {
		chance := 4
		if strings.HasSuffix(request.URL.Path, "/lock.json") {
			chance = 1
		}
		if rand.IntN(6) >= chance {
			return false
		}
		broken.Add(1)
		happens(w, request, next)
		return true
	}))
	return broken
}

// settle stops the clients, and waits until the store has everything that a machine has acknowledged. The function
// resume restarts the clients.
func (c *cluster) settle(m *machine) {
	c.t.Helper()
	c.stopWriting()
	await(c.t, "a replica of everything", func() bool {
		status := m.one("replica", "status")
		return status["lagTransactions"] == 0.0 && status["state"] == "active"
	})
	c.resume = func() { c.stopWriting = c.write() }
}

// nothingMissing fails the test if a machine lacks a contact that the previous one has acknowledged.
func (c *cluster) nothingMissing(m, before *machine) {
	c.t.Helper()
	db := openData(c.t, m.data)
	defer db.Close()
	ids := map[string]bool{}
	rows(c.t, db, "SELECT id FROM contacts", func(row []string) { ids[row[0]] = true })
	c.mu.Lock()
	defer c.mu.Unlock()
	answered, missing := 0, 0
	for _, a := range c.acked {
		if a.by != before {
			continue
		}
		answered++
		if !ids[a.id] {
			missing++
		}
	}
	if missing > 0 || answered == 0 {
		c.t.Errorf("%d of %d contacts are missing that the replica had", missing, answered)
	}
}
