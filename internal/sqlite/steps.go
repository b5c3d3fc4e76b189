package sqlite

import (
	"context"
	"errors"
	"time"

	"github.com/pocketbase/pocketbase/core"
)

// Work that takes long goes in steps, each a transaction of its own, so that others write in between. Its first step is
// small; the next ones take as many rows as fit stepTime here, on this machine and with this data.
const (
	firstStep = 50
	maxStep   = 5_000
	stepTime  = 15 * time.Millisecond
	leastPart = 3 // the least part of a step that is work: its commit takes its time for a single row as well

	gentleStepTime = stepTime / 3
)

// InSteps calls step, each time in a transaction, until it finds fewer rows than it may take. step returns how many rows
// it found. It ends early, with the context's error, when ctx ends.
func InSteps(ctx context.Context, app core.App, step func(tx core.App, limit int) (found int, err error)) error {
	return new(Pace).InSteps(ctx, app, step)
}

// Pace is how many rows the next step takes. Work that comes back again and again keeps one, and need not begin with a
// small step each time. The zero value is where everybody begins.
type Pace struct {
	limit  int
	gentle bool
}

// Gently returns a pace for much work that is in no hurry: its steps are shorter, and after each it lets others write for as long as
// that took.
func Gently() *Pace { return &Pace{gentle: true} }

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

// Step calls step once, in a transaction, and tells whether it found as many rows as it could take.
func (p *Pace) Step(app core.App, step func(tx core.App, limit int) (found int, err error)) (more bool, err error) {
	return p.step(app, step, nil)
}

// errRehearsed rolls back a transaction in which nothing went wrong.
var errRehearsed = errors.New("rehearsed")

// Rehearse is Step in a transaction that is rolled back: it takes as long, and nothing that step writes stays.
func (p *Pace) Rehearse(app core.App, step func(tx core.App, limit int) (found int, err error)) (more bool, err error) {
	return p.step(app, step, errRehearsed)
}

// step ends the transaction with that error.
func (p *Pace) step(app core.App, step func(tx core.App, limit int) (found int, err error), end error) (more bool, err error) {
	if p.limit == 0 {
		p.limit = firstStep
	}
	limit, found := p.limit, 0
	var began, worked time.Time
	err = app.RunInTransaction(func(tx core.App) (err error) {
		began = time.Now()
		if found, err = step(tx, limit); err != nil {
			return err
		}
		worked = time.Now()
		return end
	})
	if err != nil && (end == nil || !errors.Is(err, end)) {
		return false, err
	}
	if found > 0 {
		p.limit = nextStep(p.stepTime(), limit, found, worked.Sub(began), time.Since(worked))
	}
	if p.gentle {
		time.Sleep(time.Since(began))
	}
	return found >= limit, nil
}

func (p *Pace) stepTime() time.Duration {
	if p.gentle {
		return gentleStepTime
	}
	return stepTime
}

// nextStep returns how many rows to take in a step of that time where found of limit took so long, and their commit so long: at most
// twice as many as before, in case that was luck.
func nextStep(length time.Duration, limit, found int, work, commit time.Duration) int {
	work = max(work, 1)
	share := float64(work) / float64(work+commit)
	fitting := float64(found) * max(float64(length)*share, float64(length/leastPart)) / float64(work)
	return min(maxStep, max(1, min(int(fitting), 2*limit)))
}
