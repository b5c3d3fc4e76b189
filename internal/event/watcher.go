package event

import (
	"sync"
	"time"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/fault"
	"contactbase/internal/sqlite"
)

const (
	maxSubscriptions       = 20_000
	maxTenantSubscriptions = maxSubscriptions / 2

	// watchPause follows each query, so that one query covers a burst of commits.
	watchPause = 2 * time.Millisecond
	// watchInterval is how often the watcher queries for events of other processes.
	watchInterval = 500 * time.Millisecond
)

// ErrTooManyReaders means that no more subscriptions are possible now.
var ErrTooManyReaders = &fault.Error{
	Code: fault.Unavailable, RetryAfter: 5 * time.Second,
	Message: "Too many clients are waiting for events; close some connections, and try again shortly.",
}

// Watcher signals the subscriptions of a tenant when it has new events. A single query serves all subscriptions.
type Watcher struct {
	app   core.App
	upTo  func() *string // returns the id of the last visible event; nil, or returns nil, if all are visible
	wake  chan struct{}
	ended chan struct{} // closed by End
	end   func()

	mu       sync.Mutex
	byTenant map[string]map[*Subscription]struct{}
	count    int
	seen     *string // the newest event at the last query; "" for none, nil if unknown
}

// Subscription waits for the events of a tenant.
type Subscription struct {
	C <-chan struct{} // has a value when there may be new events

	signal   chan struct{}
	tenantID string
	watcher  *Watcher
}

// NewWatcher returns a watcher that does nothing before Run.
func NewWatcher(app core.App) *Watcher {
	w := &Watcher{app: app, wake: make(chan struct{}, 1), ended: make(chan struct{}), byTenant: map[string]map[*Subscription]struct{}{}}
	w.end = sync.OnceFunc(func() { close(w.ended) })
	return w
}

// EndAt limits the visible events: upTo returns the id of the last one, or nil for all. It must be called before Run, and Wake after each
// change of that event.
func (w *Watcher) EndAt(upTo func() *string) { w.upTo = upTo }

// Wake tells the watcher that events may have been committed. It never blocks.
func (w *Watcher) Wake() { signal(w.wake) }

// Ended returns a channel that is closed by End.
func (w *Watcher) Ended() <-chan struct{} { return w.ended }

// End ends Run, and tells all subscribers to stop waiting.
func (w *Watcher) End() { w.end() }

// Subscribe returns a subscription to the events of a tenant, until Close. The error is ErrTooManyReaders.
func (w *Watcher) Subscribe(tenantID string) (*Subscription, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.count >= maxSubscriptions || len(w.byTenant[tenantID]) >= maxTenantSubscriptions {
		return nil, ErrTooManyReaders
	}
	s := &Subscription{signal: make(chan struct{}, 1), tenantID: tenantID, watcher: w}
	s.C = s.signal
	if w.byTenant[tenantID] == nil {
		w.byTenant[tenantID] = map[*Subscription]struct{}{}
	}
	w.byTenant[tenantID][s] = struct{}{}
	w.count++
	return s, nil
}

// Close ends the subscription.
func (s *Subscription) Close() {
	w := s.watcher
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, isOpen := w.byTenant[s.tenantID][s]; !isOpen {
		return
	}
	delete(w.byTenant[s.tenantID], s)
	if len(w.byTenant[s.tenantID]) == 0 {
		delete(w.byTenant, s.tenantID)
	}
	w.count--
}

// Run signals subscriptions until End: after each Wake, and twice a second for events of other processes. Twice a second it also calls
// changed, and signals all subscriptions if that returns true.
func (w *Watcher) Run(changed func() bool) {
	ticker := time.NewTicker(watchInterval)
	defer ticker.Stop()
	for {
		select {
		case <-w.ended:
			return
		case <-w.wake:
			w.poll()
			time.Sleep(watchPause)
		case <-ticker.C:
			if w.poll() && changed() {
				w.signal(nil)
			}
		}
	}
}

const (
	newestSQL = "SELECT `id` FROM `events` ORDER BY rowid DESC LIMIT 1"

	// tenantsSQL returns the tenants that have events after the event ?1, up to the event ?2.
	tenantsSQL = "SELECT DISTINCT `tenant` FROM `events` WHERE rowid > (SELECT rowid FROM `events` WHERE `id` = ?1) AND rowid <= (SELECT rowid FROM `events` WHERE `id` = ?2)"
)

// poll signals the subscriptions of tenants with new events, and reports whether there are any subscriptions.
func (w *Watcher) poll() (subscribed bool) {
	w.mu.Lock()
	subscribed, seen := w.count > 0, w.seen
	if !subscribed {
		w.seen = nil
	}
	w.mu.Unlock()
	if !subscribed {
		return false
	}
	newest, err := w.pollAfter(seen)
	if err != nil {
		w.app.Logger().Warn("cannot look for new events", "error", err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen = newest
	return true
}

// pollAfter signals the subscriptions of tenants with events after seen, or all if seen is unknown. It returns the newest event.
func (w *Watcher) pollAfter(seen *string) (newest *string, err error) {
	tx := sqlite.Direct(w.app.ConcurrentDB())
	if newest, err = w.newest(tx); err != nil {
		return nil, err
	}
	if seen == nil {
		w.signal(nil)
		return newest, nil
	}
	if *newest == *seen {
		return newest, nil
	}
	tenants, err := sqlite.Values[string](tx, tenantsSQL, *seen, *newest)
	if err != nil {
		return nil, err
	}
	w.signal(tenants)
	return newest, nil
}

// newest returns the newest visible event.
func (w *Watcher) newest(tx sqlite.Reader) (*string, error) {
	if w.upTo != nil {
		if id := w.upTo(); id != nil {
			return id, nil
		}
	}
	id, err := Newest(tx)
	return &id, err
}

// Newest returns the id of the newest event, or "" if there is none.
func Newest(tx sqlite.Reader) (string, error) { return sqlite.Value[string](tx, newestSQL) }

// signal signals the subscriptions of the tenants. If there are no tenants, the event seen last has been deleted, and signal signals all.
func (w *Watcher) signal(tenants []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(tenants) == 0 {
		for _, subscriptions := range w.byTenant {
			signalAll(subscriptions)
		}
	}
	for _, tenant := range tenants {
		signalAll(w.byTenant[tenant])
	}
}

func signalAll(subscriptions map[*Subscription]struct{}) {
	for s := range subscriptions {
		signal(s.signal)
	}
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
