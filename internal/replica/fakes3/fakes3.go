// Package fakes3 is a store that speaks S3 for tests, with the faults of one.
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

// Bucket is the bucket that a store has.
const Bucket = "contacts"

// Store is a store on a loopback address.
type Store struct {
	server *httptest.Server
	behind *http.Transport // to the store that answers, nil for one of its own

	mu      sync.Mutex
	latency time.Duration
	away    bool
	stalled chan struct{} // closed when it goes on; nil while it does
	puts    int
	hold    *hold // nil for none
	breaks  Fault // nil for none
}

// hold is a door for requests that match.
type hold struct {
	matches func(*http.Request) bool
	reached chan struct{} // closed once somebody waits
	once    sync.Once
	open    chan struct{} // closed when they may go on
}

// New returns a store that answers until Close, from memory.
func New() *Store {
	backend := s3mem.New()
	if err := backend.CreateBucket(Bucket); err != nil {
		panic("fakes3: " + err.Error()) // unreachable: it is empty
	}
	options := []gofakes3.Option{
		gofakes3.WithIntegrityCheck(false),
		gofakes3.WithTimeSkewLimit(0), // a store that minds clocks keeps those that are wrong from harm
	}
	return serve(gofakes3.New(backend, options...).Server(), nil)
}

// InFrontOf returns a store that forwards requests to another one, with its own faults.
func InFrontOf(endpoint *url.URL) *Store {
	transport := &http.Transport{MaxIdleConnsPerHost: 64}
	forward := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host = endpoint.Scheme, endpoint.Host
			r.Out.Host = r.In.Host // which is signed
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

// Close ends the store.
func (s *Store) Close() {
	s.Resume()
	s.server.CloseClientConnections()
	s.server.Close()
	if s.behind != nil {
		s.behind.CloseIdleConnections()
	}
}

// Endpoint is where the store is.
func (s *Store) Endpoint() string { return s.server.URL }

// URL is a replica's address in the store.
func (s *Store) URL(folder string) string {
	return "s3://" + Bucket + "/" + folder + "?endpoint=" + s.server.URL
}

// SetLatency has each request take longer.
func (s *Store) SetLatency(latency time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.latency = latency
}

// SetAway has the store answer nobody but with 503.
func (s *Store) SetAway(away bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.away = away
}

// Stall has requests wait until Resume.
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

// Hold has requests wait that match, until release is called. reached is closed once one of them waits. matches is asked by one request
// at a time.
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

// Fault answers a request in the store's place, which is next, or leaves it to that and returns false.
type Fault func(w http.ResponseWriter, request *http.Request, next http.Handler) bool

// Break has requests meet a fault, nil for none.
func (s *Store) Break(breaks Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.breaks = breaks
}

// held returns the channel that a request has to wait for, nil for none.
func (s *Store) held(request *http.Request) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hold == nil || !s.hold.matches(request) {
		return nil
	}
	s.hold.once.Do(func() { close(s.hold.reached) })
	return s.hold.open
}

// Puts returns how many objects were sent.
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
