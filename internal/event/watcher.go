package event

import (
	"sync"
	"time"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/fault"
	"contactbase/internal/sqlite"
)

const (
	maxReaders       = 20_000 // that wait at a time
	maxTenantReaders = maxReaders / 2

	// watchPause gathers what is committed in a burst.
	watchPause = 2 * time.Millisecond
	// watchInterval is how often somebody looks for what other processes have written.
	watchInterval = 500 * time.Millisecond
)

// ErrTooManyReaders means that nobody else can wait for events now.
var ErrTooManyReaders = &fault.Error{
	Code: fault.Unavailable, RetryAfter: 5 * time.Second,
	Message: "Too many readers wait for events already; close some of them, and try again shortly.",
}

// Watcher tells those who wait for a tenant's events that there are some. One look at the database serves all of them, and who
// waits for another tenant is left alone.
type Watcher struct {
	app   core.App
	upTo  func() *string // nil, or returns nil, where all events may be told of
	wake  chan struct{}
	ended chan struct{} // closed by End
	end   func()

	mu      sync.Mutex
	readers map[string]map[*Subscription]struct{} // by tenant
	count   int
	seen    *string // the newest event at the last look, "" where there was none, nil where that is unknown
}

// Subscription is somebody who waits for the events of a tenant.
type Subscription struct {
	C <-chan struct{} // has a value where there may be something new

	signal   chan struct{}
	tenantID string
	watcher  *Watcher
}

// NewWatcher returns a watcher that looks at nothing before Run.
func NewWatcher(app core.App) *Watcher {
	w := &Watcher{app: app, wake: make(chan struct{}, 1), ended: make(chan struct{}), readers: map[string]map[*Subscription]struct{}{}}
	w.end = sync.OnceFunc(func() { close(w.ended) })
	return w
}

// EndAt has readers be told of events up to the one whose id the function returns, nil for all. It is called before Run; Wake is to be called
// when there is another one.
func (w *Watcher) EndAt(upTo func() *string) { w.upTo = upTo }

// Wake tells the watcher that events may have been committed. It never blocks.
func (w *Watcher) Wake() { signal(w.wake) }

// Ended is closed when no more events are announced.
func (w *Watcher) Ended() <-chan struct{} { return w.ended }

// End ends Run, and has all who wait give up.
func (w *Watcher) End() { w.end() }

// Subscribe has the caller told of new events of a tenant from now on, until Close. The error is ErrTooManyReaders.
func (w *Watcher) Subscribe(tenantID string) (*Subscription, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.count >= maxReaders || len(w.readers[tenantID]) >= maxTenantReaders {
		return nil, ErrTooManyReaders
	}
	s := &Subscription{signal: make(chan struct{}, 1), tenantID: tenantID, watcher: w}
	s.C = s.signal
	if w.readers[tenantID] == nil {
		w.readers[tenantID] = map[*Subscription]struct{}{}
	}
	w.readers[tenantID][s] = struct{}{}
	w.count++
	return s, nil
}

// Close ends the subscription.
func (s *Subscription) Close() {
	w := s.watcher
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, there := w.readers[s.tenantID][s]; !there {
		return
	}
	delete(w.readers[s.tenantID], s)
	if len(w.readers[s.tenantID]) == 0 {
		delete(w.readers, s.tenantID)
	}
	w.count--
}

// Run looks for new events until End: when it is woken, and twice a second for those of other processes. Then it also asks
// whether something else has changed that all who wait have to look at.
func (w *Watcher) Run(changed func() bool) {
	ticker := time.NewTicker(watchInterval)
	defer ticker.Stop()
	for {
		select {
		case <-w.ended:
			return
		case <-w.wake:
			w.look()
			time.Sleep(watchPause)
		case <-ticker.C:
			if w.look() && changed() {
				w.tell(nil)
			}
		}
	}
}

const (
	newestSQL = "SELECT `id` FROM `events` ORDER BY rowid DESC LIMIT 1"

	// tenantsSQL returns whose events are behind the event ?1, up to the event ?2.
	tenantsSQL = "SELECT DISTINCT `tenant` FROM `events` WHERE rowid > (SELECT rowid FROM `events` WHERE `id` = ?1) AND rowid <= (SELECT rowid FROM `events` WHERE `id` = ?2)"
)

// look tells those whose tenants have new events, and reports whether anybody waits.
func (w *Watcher) look() (waited bool) {
	w.mu.Lock()
	waited, seen := w.count > 0, w.seen
	if !waited {
		w.seen = nil
	}
	w.mu.Unlock()
	if !waited {
		return false
	}
	newest, err := w.lookBehind(seen)
	if err != nil {
		w.app.Logger().Warn("looking for new events", "error", err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen = newest
	return true
}

// lookBehind tells those whose tenants have events behind seen, and all where it is unknown who has. It returns the newest event.
func (w *Watcher) lookBehind(seen *string) (newest *string, err error) {
	tx := sqlite.Direct(w.app.ConcurrentDB())
	if newest, err = w.newest(tx); err != nil {
		return nil, err
	}
	if seen == nil {
		w.tell(nil)
		return newest, nil
	}
	if *newest == *seen {
		return newest, nil
	}
	tenants, err := sqlite.Values[string](tx, tenantsSQL, *seen, *newest)
	if err != nil {
		return nil, err
	}
	w.tell(tenants)
	return newest, nil
}

// newest returns the newest event that readers may be told of.
func (w *Watcher) newest(tx sqlite.Reader) (*string, error) {
	if w.upTo != nil {
		if id := w.upTo(); id != nil {
			return id, nil
		}
	}
	id, err := Newest(tx)
	return &id, err
}

// Newest returns the id of the newest event, "" where there is none.
func Newest(tx sqlite.Reader) (string, error) { return sqlite.Value[string](tx, newestSQL) }

// tell tells those who wait for the events of the tenants. None are named where the event that was seen is gone: it tells all.
func (w *Watcher) tell(tenants []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(tenants) == 0 {
		for _, readers := range w.readers {
			signalAll(readers)
		}
	}
	for _, tenant := range tenants {
		signalAll(w.readers[tenant])
	}
}

func signalAll(readers map[*Subscription]struct{}) {
	for reader := range readers {
		signal(reader.signal)
	}
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
