package delivery

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/pocketbase/pocketbase/core"
	"github.com/prometheus/client_golang/prometheus"
)

const (
	// storeTimeout is how long Stop may take to commit after its context has ended.
	storeTimeout = 3 * time.Second

	// clockTolerance is how far the clock may go back without rescheduling: deliveries may be that late anyway.
	clockTolerance = time.Second

	// stuckAfter is how long a call of the store may take: longer than a writer of the database waits for the writer
	// lock.
	stuckAfter = 30 * time.Second
)

// The default limits of Options.
const (
	DefaultInFlight    = 4096
	DefaultPerEndpoint = 10
)

// Options of an engine. Sender and Queue are required.
type Options struct {
	Sender      *Sender
	Queue       Queue                       // where deliveries are kept
	Policy      Policy                      // without delays it is DefaultPolicy
	MaxInFlight int                         // claims, in flight or waiting for a slot; 0 means DefaultInFlight
	PerEndpoint int                         // attempts in flight at an endpoint; 0 means DefaultPerEndpoint
	BeforeSend  func(context.Context) error // returns once fetched deliveries may be sent; nil: at once
	Registerer  prometheus.Registerer       // registers the engine's metrics; nil for none
	Backlog     BacklogFunc                 // what is pending, for the metrics; required with a Registerer
	Now         func() time.Time            // nil for the system's clock
	Random      func() float64              // in [0, 1), for jitter; nil for math/rand
}

// Engine sends due deliveries. One engine at a time sends for a data directory: the one that holds a file lock, which
// the operating system releases when the process ends. So after a kill -9 the next engine takes over within a second,
// and sends again what was in flight.
//
// One goroutine runs the dispatcher, which decides. Attempts and the store's calls, one at a time, run in goroutines of
// their own and send back their results. So nothing here needs a mutex.
type Engine struct {
	app        core.App
	queue      Queue
	options    Options
	send       func(context.Context, *Job) *Attempt // the sender's
	metrics    *metrics
	dispatcher *dispatcher
	started    time.Time
	seen       time.Time // the latest time that options.Now has returned

	wake    chan struct{} // something became due
	replies chan reply
	stop    chan context.Context
	begun   bool // Start was called
	ended   chan struct{}
	failure error                // of the last commit, once ended is closed
	last    atomic.Pointer[beat] // nil if the engine does not run
	flying  atomic.Int64         // attempts in flight, for the metrics

	sending     context.Context // of all attempts; ends when Stop gives up waiting
	stopSending context.CancelFunc
}

// reply is a job and its attempt.
type reply struct {
	job     *Job
	attempt *Attempt
}

// NewEngine returns an engine that is not running.
func NewEngine(app core.App, options Options) *Engine {
	if len(options.Policy.Delays) == 0 {
		options.Policy = DefaultPolicy()
	}
	options.MaxInFlight = cmp.Or(options.MaxInFlight, DefaultInFlight)
	options.PerEndpoint = cmp.Or(options.PerEndpoint, DefaultPerEndpoint)
	if options.BeforeSend == nil {
		options.BeforeSend = func(context.Context) error { return nil }
	}
	if options.Now == nil {
		options.Now = time.Now
	}
	if options.Random == nil {
		options.Random = rand.Float64
	}
	e := &Engine{
		app:        app,
		queue:      options.Queue,
		options:    options,
		send:       options.Sender.Send,
		dispatcher: newDispatcher(options),
		started:    time.Now(),
		wake:       make(chan struct{}, 1),
		replies:    make(chan reply, options.MaxInFlight), // so that an attempt can end although nobody waits for it
		stop:       make(chan context.Context, 1),
		ended:      make(chan struct{}),
	}
	e.sending, e.stopSending = context.WithCancel(context.Background())
	e.metrics = newMetrics(e, options.Registerer)
	return e
}

// Wake tells the engine that something became due. It does not block. A missed call delays deliveries by a second at
// most.
func (e *Engine) Wake() {
	select {
	case e.wake <- struct{}{}:
	default:
	}
}

// Start starts to send once no other engine sends for the same data directory. Call it once.
func (e *Engine) Start() {
	e.begun = true
	e.beat(nil)
	go func() {
		defer close(e.ended)
		defer e.last.Store(nil)
		if release := e.lock(); release != nil {
			defer release()
			e.failure = e.run()
		}
	}()
}

// Stop starts no more attempts, waits for those in flight until ctx ends, and commits their results. Attempts that are
// in flight then are interrupted, and made again later. The last commit may take 3 s longer than ctx. Stop does nothing
// if the engine is not running.
func (e *Engine) Stop(ctx context.Context) error {
	if !e.begun {
		return nil
	}
	defer e.stopSending()
	select {
	case e.stop <- ctx:
	case <-e.ended:
	}
	select {
	case <-e.ended:
	case <-ctx.Done():
		select {
		case <-e.ended:
		case <-time.After(storeTimeout):
			return errors.New("stopping the delivery engine: " +
				"the database does not respond; deliveries in flight are sent again later")
		}
	}
	if e.failure != nil {
		return fmt.Errorf("stopping the delivery engine: %w", e.failure)
	}
	return nil
}

// beat is the engine's state for other goroutines.
type beat struct {
	at    time.Time // when the engine was last without a call of the store under way
	fault error     // why it cannot send
}

func (e *Engine) beat(fault error) { e.last.Store(&beat{time.Now(), fault}) }

// Working returns an error if the engine does not run, cannot send, or is stuck. An engine that waits because another
// process sends for the data directory is working.
func (e *Engine) Working() error {
	last := e.last.Load()
	switch {
	case last == nil:
		return errors.New("the delivery engine does not run")
	case last.fault != nil:
		return fmt.Errorf("the delivery engine cannot lock the data directory: %w", last.fault)
	case time.Since(last.at) > stuckAfter:
		return fmt.Errorf("the delivery engine has been stuck for %s", time.Since(last.at).Round(time.Second))
	}
	return nil
}

// instant returns the present.
func (e *Engine) instant() instant {
	return instant{now: e.options.Now(), elapsed: time.Since(e.started)}
}

// attempt makes attempts, each in a goroutine of its own.
func (e *Engine) attempt(jobs []*Job) {
	e.flying.Add(int64(len(jobs)))
	for _, job := range jobs {
		go func() {
			attempt := e.send(e.sending, job)
			e.flying.Add(-1)
			e.replies <- reply{job, attempt}
		}()
	}
}

// replied hands an attempt to the dispatcher, and makes the next ones.
func (e *Engine) replied(r reply) {
	t := e.instant()
	result, start := e.dispatcher.answered(t, r.job, r.attempt)
	e.metrics.observe(result, t.now)
	e.attempt(start)
}

// fetch reads what to send, and waits until it may be sent.
func (e *Engine) fetch(ctx context.Context, fetch Fetch) ([]*Job, error) {
	due, err := e.queue.Fetch(ctx, fetch)
	if err == nil && len(due) > 0 {
		err = e.options.BeforeSend(ctx)
	}
	return due, err
}

// clockWentBack reports whether the clock was set back since the last call. The first call returns true, because the
// clock may have been ahead in an earlier process. A clock that is ahead does no harm: retries go out early.
func (e *Engine) clockWentBack() bool {
	now, seen := e.options.Now().Round(0), e.seen // without the monotonic reading
	switch {
	case seen.IsZero():
		e.seen = now
		return true
	case seen.Sub(now) > clockTolerance:
		e.app.Logger().Warn("the clock was set back; pending deliveries are rescheduled", "by", seen.Sub(now).String())
		e.seen = now
		return true
	case now.After(seen):
		e.seen = now
	}
	return false
}
