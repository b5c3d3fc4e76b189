// Package fakes3 is an S3 server for tests that can fail in the ways of a real one.
package fakes3

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
)

// Bucket is the only bucket of a store.
const Bucket = "contacts"

// Store is an S3 server on a loopback address.
type Store struct {
	server *httptest.Server
	behind *http.Transport // to the server behind it; nil for one in memory

	mu      sync.Mutex
	latency time.Duration
	away    bool
	stalled chan struct{} // closed by Resume; nil unless stalled
	puts    int
	hold    *hold // nil for none
	breaks  Fault // nil for none
}

// hold makes requests that match wait.
type hold struct {
	matches func(*http.Request) bool
	reached chan struct{} // closed once a request waits
	once    sync.Once
	open    chan struct{} // closed when they may continue
}

// New returns a store in memory, which runs until Close.
func New() *Store {
	backend := s3mem.New()
	if err := backend.CreateBucket(Bucket); err != nil {
		panic("fakes3: " + err.Error()) // unreachable: it is empty
	}
	options := []gofakes3.Option{
		gofakes3.WithIntegrityCheck(false),
		gofakes3.WithTimeSkewLimit(0), // rejecting wrong clocks would hide their effects
	}
	return serve(gofakes3.New(backend, options...).Server(), nil)
}

// InFrontOf returns a store that adds faults to another one, to which it forwards requests.
func InFrontOf(endpoint *url.URL) *Store {
	transport := &http.Transport{MaxIdleConnsPerHost: 64}
	forward := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host = endpoint.Scheme, endpoint.Host
			r.Out.Host = r.In.Host // the signature covers it
		},
		Transport:    transport,
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	return serve(forward, transport)
}

func serve(store http.Handler, behind *http.Transport) *Store {
	s := &Store{behind: behind}
	s.server = httptest.NewServer(s.faulty(store))
	return s
}

// Close stops the store.
func (s *Store) Close() {
	s.Resume()
	s.server.CloseClientConnections()
	s.server.Close()
	if s.behind != nil {
		s.behind.CloseIdleConnections()
	}
}

// Endpoint returns the address of the store.
func (s *Store) Endpoint() string { return s.server.URL }

// URL returns the value of --replica for a folder in the store.
func (s *Store) URL(folder string) string {
	return "s3://" + Bucket + "/" + folder + "?endpoint=" + s.server.URL
}

// SetLatency delays each request.
func (s *Store) SetLatency(latency time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.latency = latency
}

// SetAway makes the store respond to every request with 503.
func (s *Store) SetAway(away bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.away = away
}

// Stall makes requests wait until Resume.
func (s *Store) Stall() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stalled == nil {
		s.stalled = make(chan struct{})
	}
}

// Resume ends Stall.
func (s *Store) Resume() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stalled != nil {
		close(s.stalled)
		s.stalled = nil
	}
}

// Hold makes matching requests wait until release is called. The channel reached is closed once one of them waits.
// Hold calls matches for one request at a time.
func (s *Store) Hold(matches func(*http.Request) bool) (reached <-chan struct{}, release func()) {
	h := &hold{matches: matches, reached: make(chan struct{}), open: make(chan struct{})}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hold = h
	return h.reached, sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.hold == h {
			s.hold = nil
		}
		close(h.open)
	})
}

// Fault responds to a request instead of the store, which is next, or returns false to leave it to the store.
type Fault func(w http.ResponseWriter, request *http.Request, next http.Handler) bool

// Break sets the fault of requests, nil for none.
func (s *Store) Break(breaks Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.breaks = breaks
}

// held returns the channel that a request waits for, or nil.
func (s *Store) held(request *http.Request) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hold == nil || !s.hold.matches(request) {
		return nil
	}
	s.hold.once.Do(func() { close(s.hold.reached) })
	return s.hold.open
}

// Puts returns the number of PUT requests.
func (s *Store) Puts() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.puts
}

func (s *Store) faulty(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		s.mu.Lock()
		latency, away, stalled, breaks := s.latency, s.away, s.stalled, s.breaks
		if request.Method == http.MethodPut {
			s.puts++
		}
		s.mu.Unlock()
		if stalled != nil && !wait(request.Context(), stalled) {
			return
		}
		if open := s.held(request); open != nil && !wait(request.Context(), open) {
			return
		}
		if latency > 0 {
			time.Sleep(latency)
		}
		if away {
			http.Error(w, "away", http.StatusServiceUnavailable)
			return
		}
		if breaks != nil && breaks(w, request, next) {
			return
		}
		next.ServeHTTP(w, request)
	})
}

func wait(ctx context.Context, until <-chan struct{}) bool {
	select {
	case <-until:
		return true
	case <-ctx.Done():
		return false
	}
}
