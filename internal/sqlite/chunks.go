package sqlite

import (
	"context"
	"slices"
	"time"

	"github.com/pocketbase/pocketbase/core"
)

// Long work is done in chunks, each in a transaction of its own, so that others can write in between. The first chunk
// is small. Later chunks have as many rows as fit into chunkTime with this machine and this data. As any row may take
// much longer than those before, a chunk also ends once chunkTime has passed.
const (
	firstChunk   = 50
	minChunk     = 16 // on an overloaded machine each row seems slow, and the work would never end with a commit for each
	maxChunk     = 5_000
	chunkTime    = 15 * time.Millisecond
	minWorkShare = 3 // at least a third of a chunk's time is for work, because a commit takes long even for a single row

	throttledChunkTime = chunkTime / 3

	// maxPortion is how many rows a chunk processes between two looks at the clock. The rows may have a megabyte each,
	// which takes about a millisecond to delete, behind rows that were small.
	maxPortion = 4
)

// Chunk processes up to limit rows in a transaction, and returns how many it found.
type Chunk func(tx core.App, limit int) (found int, err error)

// TimedChunk is a Chunk that also ends with the row after which due reports true.
type TimedChunk func(tx core.App, limit int, due func() bool) (found int, err error)

// inPortions returns a chunk that calls another one with few rows at a time: if they took long, with as many as fit
// into what is left of the time.
func (c *Chunks) inPortions(chunk Chunk) TimedChunk {
	return func(tx core.App, limit int, due func() bool) (found int, err error) {
		began := c.now()
		for portion, before := 1, began; found < limit; {
			rows := min(portion, limit-found)
			some, err := chunk(tx, rows)
			found += some
			if err != nil || some < rows || due() {
				return found, err
			}
			now := c.now()
			row := max(1, now.Sub(before)/time.Duration(rows))
			portion = min(2*portion, maxPortion, max(1, int((chunkTime-now.Sub(began))/row)))
			before = now
		}
		return found, nil
	}
}

// InChunks calls chunk in one transaction after another, and several times in each, until it finds fewer rows than the
// limit. If ctx ends first, the error is that of ctx.
func InChunks(ctx context.Context, app core.App, chunk Chunk) error {
	return new(Chunks).Run(ctx, app, chunk)
}

// DeleteInChunks runs a DELETE in one transaction after another, until it deletes fewer rows than it may. Its last
// parameter, after args, is the most rows that it deletes.
func DeleteInChunks(ctx context.Context, app core.App, statement string, args ...any) error {
	return InChunks(ctx, app, func(tx core.App, limit int) (int, error) {
		return Exec(tx, statement, append(slices.Clone(args), limit)...)
	})
}

// Chunks has the number of rows of the next chunk. Recurring work keeps one, so that only its first chunk is small.
// The zero value is ready for use.
type Chunks struct {
	limit     int
	throttled bool
	clock     func() time.Time // nil for that of the machine
}

func (c *Chunks) now() time.Time {
	if c.clock != nil {
		return c.clock()
	}
	return time.Now()
}

// Throttled returns chunks for long work that is not urgent: they are shorter, and each is followed by a pause of
// the same duration.
func Throttled() *Chunks { return &Chunks{throttled: true} }

// Run is InChunks, starting with the current number of rows.
func (c *Chunks) Run(ctx context.Context, app core.App, chunk Chunk) error {
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

// Next calls chunk in one transaction, and reports whether there may be more rows.
func (c *Chunks) Next(app core.App, chunk Chunk) (more bool, err error) {
	return c.NextTimed("", app, c.inPortions(chunk))
}

// NextFor calls chunk once in a transaction, on behalf of an owner, the id of a tenant: owners take turns. It is for
// rows that take equally long.
func (c *Chunks) NextFor(owner string, app core.App, chunk Chunk) (more bool, err error) {
	return c.NextTimed(owner, app, func(tx core.App, limit int, _ func() bool) (int, error) { return chunk(tx, limit) })
}

// NextTimed is NextFor for rows that can each take long.
func (c *Chunks) NextTimed(owner string, app core.App, chunk TimedChunk) (more bool, err error) {
	if c.limit == 0 {
		c.limit = firstChunk
	}
	limit, found, ended := c.limit, 0, false
	var began, worked time.Time
	err = transact(app, &lockRequest{owner: owner}, func(tx core.App) (err error) {
		began = c.now()
		found, err = chunk(tx, limit, func() bool {
			ended = ended || c.now().Sub(began) >= chunkTime
			return ended
		})
		worked = c.now()
		return err
	})
	if err != nil {
		return false, err
	}
	if found > 0 {
		target := chunkTime
		if c.throttled {
			target = throttledChunkTime
		}
		c.limit = nextChunk(target, limit, found, worked.Sub(began), c.now().Sub(worked))
	}
	if c.throttled {
		time.Sleep(c.now().Sub(began))
	}
	return ended || found >= limit, nil
}

// nextChunk returns how many rows fit into the target time, given how long found of limit rows and their commit took.
// It returns at most twice the limit, because those rows may have been quick by chance.
func nextChunk(target time.Duration, limit, found int, work, commit time.Duration) int {
	work = max(work, 1)
	share := float64(work) / float64(work+commit)
	fitting := float64(found) * max(float64(target)*share, float64(target/minWorkShare)) / float64(work)
	return min(maxChunk, max(minChunk, min(int(fitting), 2*limit)))
}
