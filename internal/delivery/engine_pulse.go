package delivery

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

// stuckAfter is how long the loop, which goes around every second, may take for one round: longer than a writer of the
// database waits for its turn.
const stuckAfter = 30 * time.Second

// pulse tells whether the loop goes around.
type pulse struct {
	last atomic.Pointer[time.Time] // when the present round began; nil where the loop does not run
}

func (p *pulse) beat() {
	now := time.Now()
	p.last.Store(&now)
}

func (p *pulse) stop() { p.last.Store(nil) }

// Working returns an error where the engine does not run, or not on. An engine that waits because another process sends
// for the folder is in order.
func (e *Engine) Working() error {
	last := e.pulse.last.Load()
	if last == nil {
		return errors.New("the delivery engine does not run")
	}
	if round := time.Since(*last); round > stuckAfter {
		return fmt.Errorf("the delivery engine has been stuck for %s", round.Round(time.Second))
	}
	return nil
}
