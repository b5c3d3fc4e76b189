package event

import (
	"context"
	"slices"
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

	// maxSignals is how many subscriptions of a tenant have a signal at a time: other tenants' readers would wait
	// behind thousands that run. After each pause at least minSignals get one, because a reader with a slow client
	// takes its signal late.
	maxSignals = 64
	minSignals = 4

	// watchInterval is how often the watcher queries for events of other processes.
	watchInterval = 500 * time.Millisecond
)

// ErrTooManyReaders means that no more subscriptions are possible now.
var ErrTooManyReaders = &fault.Error{
	Code: fault.Unavailable, RetryAfter: 5 * time.Second,
	Message: "Too many clients are waiting for events; close some connections, and try again shortly.",
}

// Watcher signals the subscriptions of a tenant when it has new events, a few at a time. A single query serves
// all subscriptions.
type Watcher struct {
	app   core.App
	upTo  func() *string // returns the id of the last visible event; nil, or returns nil, if all are visible
	wake  chan struct{}
	ended context.Context // canceled by End
	end   context.CancelFunc

	mu       sync.Mutex
	byTenant map[string]*audience
	due      []*audience // that have due subscriptions
	count    int
	seen     *string // the newest event at the last query; "" for none, nil if unknown
}

// audience is the subscriptions of a tenant.
type audience struct {
	all map[*Subscription]struct{}
	due []*Subscription // to be signaled, in this order; some may be closed

	signaled []*Subscription // may not have taken their signals yet
}

// Subscription waits for the events of a tenant.
type Subscription struct {
	C <-chan struct{} // has a value when there may be new events

	signal   chan struct{}
	isDue    bool
	tenantID string
	watcher  *Watcher
}

// NewWatcher returns a watcher that does nothing before Run.
func NewWatcher(app core.App) *Watcher {
	w := &Watcher{app: app, wake: make(chan struct{}, 1), byTenant: map[string]*audience{}}
	w.ended, w.end = context.WithCancel(context.Background())
	return w
}

// EndAt limits the visible events: upTo returns the id of the last one, or nil for all. It must be called before Run,
// and Wake after each change of that event.
func (w *Watcher) EndAt(upTo func() *string) { w.upTo = upTo }

// Wake tells the watcher that events may have been committed. It never blocks.
func (w *Watcher) Wake() { signal(w.wake) }

// Ended returns a channel that is closed by End.
func (w *Watcher) Ended() <-chan struct{} { return w.ended.Done() }

// OnEnd runs f on a goroutine of its own after End, unless stop is called before.
func (w *Watcher) OnEnd(f func()) (stop func() bool) { return context.AfterFunc(w.ended, f) }

// End ends Run, and tells all subscribers to stop waiting.
func (w *Watcher) End() { w.end() }

// Subscribe returns a subscription to the events of a tenant, until Close. The error is ErrTooManyReaders.
func (w *Watcher) Subscribe(tenantID string) (*Subscription, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	a := w.byTenant[tenantID]
	if w.count >= maxSubscriptions || a != nil && len(a.all) >= maxTenantSubscriptions {
		return nil, ErrTooManyReaders
	}
	if a == nil {
		a = &audience{all: map[*Subscription]struct{}{}}
		w.byTenant[tenantID] = a
	}
	s := &Subscription{signal: make(chan struct{}, 1), tenantID: tenantID, watcher: w}
	s.C = s.signal
	a.all[s] = struct{}{}
	w.count++
	return s, nil
}

// Close ends the subscription.
func (s *Subscription) Close() {
	w := s.watcher
	w.mu.Lock()
	defer w.mu.Unlock()
	a := w.byTenant[s.tenantID]
	if a == nil {
		return
	}
	if _, isOpen := a.all[s]; !isOpen {
		return
	}
	if delete(a.all, s); len(a.all) == 0 {
		delete(w.byTenant, s.tenantID)
	}
	w.count--
}

// Run signals subscriptions until End: after each Wake, and twice a second for events of other processes. Twice a
// second it also calls changed, and signals all subscriptions if that returns true.
func (w *Watcher) Run(changed func() bool) {
	ticker := time.NewTicker(watchInterval)
	defer ticker.Stop()
	for {
		select {
		case <-w.Ended():
			return
		case <-w.wake:
			w.poll()
		case <-ticker.C:
			if w.poll() && changed() {
				w.signal(nil)
			}
		}
		if w.signalDue() {
			w.Wake()
		}
		time.Sleep(watchPause)
	}
}

const (
	newestSQL = "SELECT `id` FROM `events` ORDER BY rowid DESC LIMIT 1"

	// tenantsSQL returns the tenants that have events after the event ?1, up to the event ?2.
	tenantsSQL = "SELECT DISTINCT `tenant` FROM `events` WHERE rowid > " +
		"(SELECT rowid FROM `events` WHERE `id` = ?1) AND rowid <= (SELECT rowid FROM `events` WHERE `id` = ?2)"
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

// pollAfter signals the subscriptions of tenants with events after seen, or all if seen is unknown. It returns
// the newest event.
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

// signal makes the subscriptions of the tenants due. If there are no tenants, the event seen last has been deleted,
// and all become due.
func (w *Watcher) signal(tenants []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(tenants) == 0 {
		for _, a := range w.byTenant {
			w.makeDue(a)
		}
	}
	for _, tenant := range tenants {
		if a := w.byTenant[tenant]; a != nil {
			w.makeDue(a)
		}
	}
}

func (w *Watcher) makeDue(a *audience) {
	if len(a.due) == 0 {
		w.due = append(w.due, a)
	}
	for s := range a.all {
		if !s.isDue {
			s.isDue = true
			a.due = append(a.due, s)
		}
	}
}

// signalDue signals some of the due subscriptions of each tenant, and reports whether any are left.
func (w *Watcher) signalDue() (left bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.due = slices.DeleteFunc(w.due, func(a *audience) bool {
		a.signaled = slices.DeleteFunc(a.signaled, func(s *Subscription) bool {
			_, isOpen := a.all[s]
			return !isOpen || len(s.signal) == 0
		})
		n := min(max(maxSignals-len(a.signaled), minSignals), len(a.due))
		for _, s := range a.due[:n] {
			s.isDue = false
			signal(s.signal)
		}
		a.signaled = append(a.signaled, a.due[:n]...)
		a.due = slices.Delete(a.due, 0, n)
		return len(a.due) == 0
	})
	return len(w.due) > 0
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
