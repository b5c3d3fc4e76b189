package delivery

import (
	"errors"
	"fmt"
	"time"
)

// stuckAfter is how long a call of the store may take: longer than a writer of the database waits for the writer lock.
const stuckAfter = 30 * time.Second

// beat is the engine's state for other goroutines.
type beat struct {
	at    time.Time // when the engine was last without a call of the store under way
	fault error     // why it cannot send
}

func (e *Engine) beat(fault error) { e.last.Store(&beat{time.Now(), fault}) }

// Working returns an error if the engine does not run, cannot send, or is stuck. An engine that waits because another process sends for
// the data directory is working.
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
