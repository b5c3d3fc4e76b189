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
	limit := firstStep
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		found := 0
		var took time.Duration
		err := app.RunInTransaction(func(tx core.App) (err error) {
			began := time.Now()
			found, err = step(tx, limit)
			took = time.Since(began)
			return err
		})
		if err != nil || found < limit {
			return err
		}
		limit = nextStep(limit, took)
	}
}

// nextStep returns how many rows to take after so many took so long: at most twice as many, in case that was luck.
func nextStep(limit int, took time.Duration) int {
	fitting := int(int64(limit) * int64(stepTime) / max(1, int64(took)))
	return min(maxStep, max(1, min(fitting, 2*limit)))
}
