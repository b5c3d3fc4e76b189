package retention

import (
	"context"
	"time"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/delivery"
)

// sweepPoll is how often a Sweeper looks for what another process has deleted.
const sweepPoll = 10 * time.Second

// Sweeper removes in the background what belongs to what was deleted.
type Sweeper struct {
	app        core.App
	deliveries delivery.Participant
	poll       time.Duration
	wake       chan struct{}
	cancel     context.CancelFunc
	done       chan struct{}
}

// NewSweeper returns a sweeper that does nothing before Start.
func NewSweeper(app core.App, deliveries delivery.Participant) *Sweeper {
	return &Sweeper{app: app, deliveries: deliveries, poll: sweepPoll, wake: make(chan struct{}, 1)}
}

// Wake tells the sweeper that something was deleted. It never blocks.
func (s *Sweeper) Wake() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Start runs the sweeper in the background.
func (s *Sweeper) Start() {
	ctx, cancel := context.WithCancel(context.Background())
	s.cancel, s.done = cancel, make(chan struct{})
	go func() {
		defer close(s.done)
		ticker := time.NewTicker(s.poll)
		defer ticker.Stop()
		for {
			if err := Sweep(ctx, s.app, s.deliveries); err != nil && ctx.Err() == nil {
				s.app.Logger().Error("removing what belonged to what was deleted; it is tried again", "error", err)
			}
			select {
			case <-ctx.Done():
				return
			case <-s.wake:
			case <-ticker.C:
			}
		}
	}()
}

// Stop ends the sweeper and waits for the step that it is in.
func (s *Sweeper) Stop() {
	if s.cancel == nil {
		return
	}
	s.cancel()
	<-s.done
}
