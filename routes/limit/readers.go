package limit

import (
	"context"
	"net/http"
	"runtime"
	"slices"
	"sync"
	"time"

	"contactbase/internal/fault"
	"contactbase/internal/sqlite"
)

const (
	// minReads is how many requests of a tenant that is alone read at a time on a small machine: some wait for the disk.
	minReads = 4

	// reserved connections are left to the next tenant that comes.
	reserved = 4

	// recentRead is how long a tenant counts as present after its last request.
	recentRead = 10 * time.Second

	// readTimeout is how long a request waits for its turn to read.
	readTimeout = 10 * time.Second
)

// Readers shares the reading connections, and the processors, between tenants. A tenant that is alone uses all
// processors, and some more connections. Beside others, it leaves at least half of both to them, and its requests
// wait for each other.
type Readers struct {
	now   func() time.Time
	most  int // requests of a tenant that is alone
	share int // of one that is not

	mu      sync.Mutex
	reading map[string]int // requests by tenant, without zeros
	waiting []*waitingRead // in the order in which they came
	last    string         // the tenant that came last
	changed time.Time      // when another tenant had come before it
}

type waitingRead struct {
	tenant  string
	granted chan struct{}
}

// NewReaders returns readers with a clock that never goes back.
func NewReaders(now func() time.Time) *Readers {
	processors := runtime.GOMAXPROCS(0)
	most := min(sqlite.MaxReaders-reserved, max(minReads, 2*processors))
	return &Readers{now: now, most: most, share: max(1, min(most, processors)/2), reading: map[string]int{}}
}

// Acquire waits until a request of the tenant may read, and returns the function that ends its reading.
func (r *Readers) Acquire(ctx context.Context, tenant string) (release func(), err error) {
	release = sync.OnceFunc(func() { r.release(tenant) })
	r.mu.Lock()
	if tenant != r.last {
		r.last, r.changed = tenant, r.now()
	}
	if r.admits(tenant) {
		r.reading[tenant]++
		r.mu.Unlock()
		return release, nil
	}
	waiting := &waitingRead{tenant, make(chan struct{})}
	r.waiting = append(r.waiting, waiting)
	r.mu.Unlock()

	ctx, cancel := context.WithTimeoutCause(ctx, readTimeout, errTooManyReads)
	defer cancel()
	select {
	case <-waiting.granted:
		return release, nil
	case <-ctx.Done():
		r.abandon(waiting)
		return nil, context.Cause(ctx)
	}
}

var errTooManyReads = &fault.Error{
	Code: fault.Unavailable, RetryAfter: time.Second,
	Message: "Too many requests of this tenant read at the same time. Send fewer at once, and try again shortly.",
}

// admits reports whether another request of the tenant may read. The caller holds mu.
func (r *Readers) admits(tenant string) bool {
	reading := r.reading[tenant]
	isAlone := len(r.reading) == min(reading, 1) && r.now().Sub(r.changed) >= recentRead
	return reading < r.share || isAlone && reading < r.most
}

// release ends a request's reading, and lets those that wait read.
func (r *Readers) release(tenant string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.reading[tenant]--; r.reading[tenant] == 0 {
		delete(r.reading, tenant)
	}
	r.waiting = slices.DeleteFunc(r.waiting, func(w *waitingRead) bool {
		if !r.admits(w.tenant) {
			return false
		}
		r.reading[w.tenant]++
		close(w.granted)
		return true
	})
}

// abandon ends the wait, or the read that was granted just now.
func (r *Readers) abandon(waiting *waitingRead) {
	r.mu.Lock()
	i := slices.Index(r.waiting, waiting)
	if i >= 0 {
		r.waiting = slices.Delete(r.waiting, i, i+1)
	}
	r.mu.Unlock()
	if i < 0 {
		r.release(waiting.tenant)
	}
}

// Release ends the reading of a request whose response has the reading of a Response, for one that takes a turn for
// each of its parts.
func Release(response http.ResponseWriter) {
	for response != nil {
		if r, ok := response.(Response); ok {
			r.Release()
			return
		}
		inner, ok := response.(interface{ Unwrap() http.ResponseWriter })
		if !ok {
			return
		}
		response = inner.Unwrap()
	}
}

// Response ends a request's reading with the first byte of its response: a slow client holds nothing.
type Response struct {
	http.ResponseWriter
	Release func()
}

// WriteHeader implements http.ResponseWriter.
func (w Response) WriteHeader(status int) {
	w.Release()
	w.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (w Response) Write(p []byte) (int, error) {
	w.Release()
	return w.ResponseWriter.Write(p)
}

// FlushError is used by http.ResponseController.
func (w Response) FlushError() error {
	w.Release()
	return http.NewResponseController(w.ResponseWriter).Flush()
}

// Flush implements http.Flusher.
func (w Response) Flush() { _ = w.FlushError() } // a client that has gone needs no response

// Unwrap is used by http.ResponseController.
func (w Response) Unwrap() http.ResponseWriter { return w.ResponseWriter }
