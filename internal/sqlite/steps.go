package sqlite

import (
	"context"
	"time"

	"github.com/pocketbase/pocketbase/core"
)

// Work that takes long goes in steps, each a transaction of its own, so that others write in between. Its first step is
// small; the next ones take as many rows as fit stepTime here, on this machine and with this data.
const (
	firstStep = 50
	maxStep   = 5_000
	stepTime  = 15 * time.Millisecond
)

// InSteps calls step, each time in a transaction, until it finds fewer rows than it may take. step returns how many rows
// it found. It ends early, with the context's error, when ctx ends.
func InSteps(ctx context.Context, app core.App, step func(tx core.App, limit int) (found int, err error)) error {
	return new(Pace).InSteps(ctx, app, step)
}

// Pace is how many rows the next step takes. Work that comes back again and again keeps one, and need not begin with a
// small step each time. The zero value is where everybody begins.
type Pace struct{ limit int }

// InSteps is the function of that name, at the pace of the steps before.
func (p *Pace) InSteps(ctx context.Context, app core.App, step func(tx core.App, limit int) (found int, err error)) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		more, err := p.Step(app, step)
		if err != nil || !more {
			return err
		}
	}
}

// Step calls step once, in a transaction, and tells whether it found as many rows as it could take. How long it took
// includes the commit, which is when much of the writing is done.
func (p *Pace) Step(app core.App, step func(tx core.App, limit int) (found int, err error)) (more bool, err error) {
	if p.limit == 0 {
		p.limit = firstStep
	}
	limit, found := p.limit, 0
	var began time.Time
	err = app.RunInTransaction(func(tx core.App) (err error) {
		began = time.Now()
		found, err = step(tx, limit)
		return err
	})
	if err != nil {
		return false, err
	}
	if found > 0 {
		p.limit = nextStep(limit, found, time.Since(began))
	}
	return found >= limit, nil
}

// nextStep returns how many rows to take where found of limit took so long: at most twice as many as before, in case that
// was luck.
func nextStep(limit, found int, took time.Duration) int {
	fitting := int64(found) * int64(stepTime) / max(1, int64(took))
	return int(min(maxStep, max(1, min(fitting, int64(2*limit)))))
}
