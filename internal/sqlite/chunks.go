package sqlite

import (
	"context"
	"time"

	"github.com/pocketbase/pocketbase/core"
)

// Long work is done in chunks, each in a transaction of its own, so that others write in between. The first chunk is small. Later ones
// have as many rows as fit into chunkTime on this machine and with this data.
const (
	firstChunk   = 50
	minChunk     = 16 // on a machine that is out of CPU each row looks slow, and with a commit for each the work would never end
	maxChunk     = 5_000
	chunkTime    = 15 * time.Millisecond
	minWorkShare = 3 // at least a third of a chunk's time is work: its commit takes its time for a single row as well

	throttledChunkTime = chunkTime / 3
)

// InChunks calls chunk in one transaction after another, until it finds fewer rows than it may take. chunk returns how many rows it
// found. InChunks ends early, with the context's error, when ctx ends.
func InChunks(ctx context.Context, app core.App, chunk func(tx core.App, limit int) (found int, err error)) error {
	return new(Chunks).Run(ctx, app, chunk)
}

// Chunks knows how many rows the next chunk takes. Recurring work keeps one, so that it need not start with a small chunk each time.
// The zero value starts with a small chunk.
type Chunks struct {
	limit     int
	throttled bool
}

// Throttled returns chunks for a lot of work that is not urgent: they are shorter, and after each the others may write for as long as
// it took.
func Throttled() *Chunks { return &Chunks{throttled: true} }

// Run is InChunks, beginning with the present size.
func (c *Chunks) Run(ctx context.Context, app core.App, chunk func(tx core.App, limit int) (found int, err error)) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		more, err := c.Next(app, chunk)
		if err != nil || !more {
			return err
		}
	}
}

// Next calls chunk once, in a transaction, and reports whether it found as many rows as it could take.
func (c *Chunks) Next(app core.App, chunk func(tx core.App, limit int) (found int, err error)) (more bool, err error) {
	if c.limit == 0 {
		c.limit = firstChunk
	}
	limit, found := c.limit, 0
	var began, worked time.Time
	err = app.RunInTransaction(func(tx core.App) (err error) {
		began = time.Now()
		found, err = chunk(tx, limit)
		worked = time.Now()
		return err
	})
	if err != nil {
		return false, err
	}
	if found > 0 {
		c.limit = nextChunk(c.target(), limit, found, worked.Sub(began), time.Since(worked))
	}
	if c.throttled {
		time.Sleep(time.Since(began))
	}
	return found >= limit, nil
}

func (c *Chunks) target() time.Duration {
	if c.throttled {
		return throttledChunkTime
	}
	return chunkTime
}

// nextChunk returns how many rows to take in the target time, given how long found of limit rows and their commit took. It returns at
// most twice the limit, in case those rows were quick by chance.
func nextChunk(target time.Duration, limit, found int, work, commit time.Duration) int {
	work = max(work, 1)
	share := float64(work) / float64(work+commit)
	fitting := float64(found) * max(float64(target)*share, float64(target/minWorkShare)) / float64(work)
	return min(maxChunk, max(minChunk, min(int(fitting), 2*limit)))
}
