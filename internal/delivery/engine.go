package delivery

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/pocketbase/pocketbase/core"
	"github.com/prometheus/client_golang/prometheus"
)

const (
	// Lease is how long a claim lasts. It outlasts an attempt by enough to store its result.
	Lease = attemptTimeout + 5*time.Second

	// storePatience is how much longer than it was given Stop may take to store and to give back.
	storePatience = 3 * time.Second
)

// The limits of Options where they say nothing else.
const (
	DefaultInFlight    = 4096
	DefaultPerEndpoint = 10
)

// Options of an engine. Sender and Store are required.
type Options struct {
	Sender      *Sender
	Store       Store                 // where deliveries are kept
	Policy      Policy                // without delays it is DefaultPolicy
	MaxInFlight int                   // attempts in flight, with what is claimed for them; 0 means DefaultInFlight
	PerEndpoint int                   // attempts in flight at an endpoint; 0 means DefaultPerEndpoint
	Registerer  prometheus.Registerer // takes the engine's metrics; nil is none
	Now         func() time.Time      // nil is the system's clock
	Random      func() float64        // from [0, 1), for jitter; nil is the runtime's
}

// Engine sends what is due. One engine sends for a data folder at a time, whichever process it is in.
//
// A lock of the operating system on a file in the folder keeps it so. It ends with the process that holds it, so that the
// next one knows at once that nobody else is sending: what was in flight at a kill -9 goes out again within a second. As
// nobody else claims, claims are kept in memory. Where there is no such lock (some network file systems), they are stored:
// they keep two engines from sending the same delivery, and come back by themselves, which takes up to 20 s.
//
// Its loop places, claims and stores in batches; attempts run beside it, each endpoint in a lane of its own.
type Engine struct {
	app     core.App
	store   Store
	options Options
	send    func(context.Context, *Job) *Attempt // the sender's
	metrics *metrics

	wake    chan struct{} // something became due
	arrived chan struct{} // there are results to store

	stopLoop context.CancelFunc // nil before Start
	loopDone chan struct{}
	release  func() // of the lock; nil without one
	pulse    pulse

	sending     context.Context // of all attempts; ends when Stop gives up waiting
	stopSending context.CancelFunc
	workers     sync.WaitGroup

	mu       sync.Mutex
	lanes    map[string]*lane   // by webhook id
	flights  map[*Job]time.Time // when each attempt began
	waiting  int                // jobs that wait in lanes
	results  []Result           // not stored yet
	since    time.Time          // when the first of them came, by the loop's clock
	returned []*Job             // claims to give back
	swept    time.Time

	// Of the loop alone. Its own pace it keeps by the runtime's monotonic clock, which nobody sets.
	due       bool      // something may be due
	claimFrom time.Time // not to claim before
	placeFrom time.Time // not to place before, after an error
	poll      time.Time // to look again without being woken
	flushFrom time.Time // not to store before, after an error
	seen      time.Time // the latest that options.Now ever was
}

// NewEngine returns an engine that is not running.
func NewEngine(app core.App, options Options) *Engine {
	if len(options.Policy.Delays) == 0 {
		options.Policy = DefaultPolicy()
	}
	if options.MaxInFlight == 0 {
		options.MaxInFlight = DefaultInFlight
	}
	if options.PerEndpoint == 0 {
		options.PerEndpoint = DefaultPerEndpoint
	}
	if options.Now == nil {
		options.Now = time.Now
	}
	if options.Random == nil {
		options.Random = rand.Float64
	}
	e := &Engine{
		app:     app,
		store:   options.Store,
		options: options,
		send:    options.Sender.Send,
		wake:    make(chan struct{}, 1),
		arrived: make(chan struct{}, 1),
		lanes:   map[string]*lane{},
		flights: map[*Job]time.Time{},
	}
	e.sending, e.stopSending = context.WithCancel(context.Background())
	e.metrics = newMetrics(e, options.Registerer)
	return e
}

// Wake tells the engine that something became due. It does not block, and a missed call costs a second at most.
func (e *Engine) Wake() { signal(e.wake) }

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Start begins to send, as soon as no other engine does for the same data folder. Call it once.
func (e *Engine) Start() {
	ctx, cancel := context.WithCancel(context.Background())
	e.stopLoop, e.loopDone = cancel, make(chan struct{})
	e.pulse.beat()
	go func() {
		defer close(e.loopDone)
		defer e.pulse.stop()
		if e.lock(ctx) {
			tookOver := make(chan struct{})
			e.seen = e.options.Now().Round(0)
			go func() {
				defer close(tookOver)
				e.takeOver(ctx)
			}()
			e.loop(ctx)
			<-tookOver
		}
	}()
}

// Stop ends the claiming, waits for the attempts in flight until ctx ends, and then leaves them: those and whatever else
// was claimed go back to the queue without having counted. It needs the database, which gets 3 s more than ctx; an
// attempt that does not end keeps it from nothing. An engine that is not running is left alone.
func (e *Engine) Stop(ctx context.Context) error {
	if e.stopLoop == nil {
		return nil
	}
	e.stopLoop()
	stopped := make(chan error, 1)
	go func() { stopped <- e.windUp(ctx) }()
	var err error
	select {
	case err = <-stopped:
	case <-ctx.Done():
		e.stopSending()
		select {
		case err = <-stopped:
		case <-time.After(storePatience):
			err = errors.New("the database does not answer; what is claimed comes back by itself")
		}
	}
	if err != nil {
		return fmt.Errorf("stopping the delivery engine: %w", err)
	}
	return nil
}

// windUp lets the attempts in flight end, until ctx does, and gives back all the others.
func (e *Engine) windUp(ctx context.Context) error {
	<-e.loopDone
	defer e.unlock()
	e.mu.Lock()
	for _, l := range e.lanes {
		e.giveBack(l)
	}
	e.mu.Unlock()
	done := make(chan struct{})
	go func() {
		e.workers.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-ctx.Done():
	}
	e.stopSending()
	e.abandon()
	return e.flush(context.WithoutCancel(ctx))
}

// RunOnce places all events, claims what is due, sends it, and stores the results, without the loop, one thing after the
// other. It returns how many attempts were made. It must not be called while the engine runs.
func (e *Engine) RunOnce(ctx context.Context) (int, error) {
	for more := true; more; {
		var err error
		if more, err = e.store.Place(ctx, e.options.Now(), 0); err != nil {
			return 0, err
		}
	}
	if _, _, err := e.claim(ctx, e.options.Now()); err != nil {
		return 0, err
	}
	e.workers.Wait()
	e.mu.Lock()
	made := len(e.results)
	e.mu.Unlock()
	return made, e.flush(ctx)
}
