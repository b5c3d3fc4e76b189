package routes

import (
	"net/http"
	"sync"
	"time"

	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/routine"

	"contactbase/internal/fault"
	"contactbase/internal/order"
	"contactbase/routes/envelope"
)

// drainTimeout is how long running requests have to finish when the program stops.
const drainTimeout = 5 * time.Second

// drain lets running requests finish before PocketBase cancels their contexts. It refuses new ones, which
// clients may repeat.
type drain struct {
	mu      sync.Mutex
	running int
	ending  bool
	empty   chan struct{} // closed when the last request has ended
}

func bindDrain(app core.App) *drain {
	d := &drain{empty: make(chan struct{})}
	order.OnStop(app, "contactbaseDrain", order.RequestsEnd, func() {
		if left := d.wait(drainTimeout); left > 0 {
			app.Logger().Warn("stopping with requests still running", "requests", left)
		}
	})
	return d
}

func (d *drain) begin() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ending {
		return false
	}
	d.running++
	return true
}

func (d *drain) end() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.running--
	if d.ending && d.running == 0 {
		close(d.empty)
	}
}

// background runs work that outlives the handler of a running request in a new goroutine, as part of that request.
func (d *drain) background(do func()) {
	d.mu.Lock()
	d.running++
	d.mu.Unlock()
	routine.FireAndForget(func() {
		defer d.end()
		do()
	})
}

// wait refuses new requests, and waits for the running ones. It returns how many are left.
func (d *drain) wait(timeout time.Duration) (left int) {
	d.mu.Lock()
	first := !d.ending
	d.ending = true
	if first && d.running == 0 {
		close(d.empty)
	}
	d.mu.Unlock()
	select {
	case <-d.empty:
	case <-time.After(timeout):
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.running
}

// readOnly refuses writes while an older data directory is upgraded. Reads that need tables or columns of the new
// schema also fail.
func (s *server) readOnly(e *core.RequestEvent) error {
	const message = "The service is being upgraded and is read-only. Try again shortly."
	if e.Request.Method != http.MethodGet && e.Request.Method != http.MethodHead {
		return envelope.Unavailable(message, nil)
	}
	err := s.next(e)
	if err != nil && envelope.FaultOf(err).Code == fault.Internal {
		return envelope.Unavailable(message, err)
	}
	return err
}
