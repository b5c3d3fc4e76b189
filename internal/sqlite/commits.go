package sqlite

import (
	"sync"
	"sync/atomic"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/sqlite/physical"
)

// commit identifies a state of a database: the header of the WAL index, which all processes share. It has the number
// of frames in the WAL, their checksum, and a salt that changes whenever the WAL is reset, so that no two states have
// the same header unless the WAL is empty. SQLite changes it in each commit, before the commit returns. See
// https://sqlite.org/walformat.html#the_wal_index_header.
type commit [48]byte

// known reports whether the header identifies a state.
func (c commit) known() bool {
	const initialized, frames = 12, 16
	return c[initialized] == 1 && [4]byte(c[frames:]) != [4]byte{}
}

// commits reads the last commit of a database by any process.
type commits struct {
	once   sync.Once
	shared []byte               // the WAL index, nil if it cannot be read
	keeper *physical.Connection // keeps the index alive, which SQLite deletes with the last connection
}

// open maps the index, once.
func (c *commits) open(connector *connector) {
	c.once.Do(func() {
		keeper, err := connector.connect(0, keeperCache)
		if err != nil {
			return
		}
		if c.shared, err = mapIndex(connector.path, len(commit{})); err != nil {
			_ = keeper.Close() // it was not used
			return
		}
		c.keeper = keeper
	})
}

// last returns the last commit.
func (c *commits) last() (last commit) {
	copy(last[:], c.shared)
	return last
}

// close closes the keeper. The index must not be opened again.
func (c *commits) close() error {
	c.once.Do(func() {})
	if c.keeper == nil {
		return nil
	}
	return c.keeper.Close()
}

// Cached caches a value that was read from data.db, until the next commit to data.db by any process. The
// zero value is empty.
type Cached[T any] struct{ last atomic.Pointer[cached[T]] }

type cached[T any] struct {
	read  commit // the last one when the value was read
	value T
}

// Get returns the cached value, or calls read if there may have been a commit since. Without a readable WAL index, it
// always calls read.
func (r *Cached[T]) Get(app core.App, read func() (T, error)) (T, error) {
	commits := commitsOf(app)
	if commits == nil {
		return read()
	}
	before := commits.last()
	if last := r.last.Load(); last != nil && last.read == before {
		return last.value, nil
	}
	value, err := read()
	if err == nil && before.known() && commits.last() == before {
		r.last.Store(&cached[T]{before, value})
	}
	return value, err
}

// commitsOf returns the commits of the app's data.db. It returns nil in a transaction, and if Connect has not
// opened the database.
func commitsOf(app core.App) *commits {
	c := connectorOf(app.ConcurrentDB())
	if c == nil {
		return nil
	}
	c.commits.open(c)
	return &c.commits
}
