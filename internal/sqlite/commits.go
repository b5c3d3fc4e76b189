package sqlite

import (
	"sync"
	"sync/atomic"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"
)

// commit is the state of a database: the header of the index of its log, which all processes share. It has the number of frames in the
// log, their checksum, and a salt that is another one whenever the log begins anew, so that no two states have the same header unless
// the log is empty. SQLite changes it in each commit, before that is answered. See https://sqlite.org/walformat.html#the_wal_index_header.
type commit [48]byte

// known tells whether the header says which state it is of.
func (c commit) known() bool {
	const initialized, frames = 12, 16
	return c[initialized] == 1 && [4]byte(c[frames:]) != [4]byte{}
}

// commits tells which commit of a database was the last, of any process.
type commits struct {
	once   sync.Once
	shared []byte      // the index; nil where it cannot be read
	keeper *connection // SQLite keeps an index as long as a connection is open
}

// open maps the index, once.
func (c *commits) open(connector *connector) {
	c.once.Do(func() {
		keeper, err := connector.connect(0, keeperCache)
		if err != nil {
			return
		}
		if c.shared, err = mapIndex(connector.path, len(commit{})); err != nil {
			_ = keeper.Close() // it has done nothing
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

// close lets the index go. Nobody may open it any more.
func (c *commits) close() error {
	c.once.Do(func() {})
	if c.keeper == nil {
		return nil
	}
	return c.keeper.Close()
}

// Remembered is what was read from data.db, for as long as nothing at all is committed to it, by any process. The zero value remembers
// nothing.
type Remembered[T any] struct{ last atomic.Pointer[remembered[T]] }

type remembered[T any] struct {
	since commit
	value T
}

// Get returns what read returned, or calls it where anything may have been committed since. It calls it each time where the system
// does not let it know.
func (r *Remembered[T]) Get(app core.App, read func() (T, error)) (T, error) {
	commits := commitsOf(app)
	if commits == nil {
		return read()
	}
	before := commits.last()
	if last := r.last.Load(); last != nil && last.since == before {
		return last.value, nil
	}
	value, err := read()
	if err == nil && before.known() && commits.last() == before {
		r.last.Store(&remembered[T]{before, value})
	}
	return value, err
}

// commitsOf returns those of the app's data.db, nil where Connect has not opened it, and inside a transaction.
func commitsOf(app core.App) *commits {
	db, ok := app.ConcurrentDB().(*dbx.DB)
	if !ok {
		return nil
	}
	p, ok := db.DB().Driver().(pooled)
	if !ok {
		return nil
	}
	p.connector.commits.open(p.connector)
	return &p.connector.commits
}
