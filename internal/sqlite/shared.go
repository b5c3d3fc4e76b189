package sqlite

import (
	"sync"
	"time"

	"github.com/pocketbase/pocketbase/core"
)

// sharedAge is how long a value is shared at most, which limits how many are in memory.
const sharedAge = time.Second

// Shared shares values read from data.db among concurrent callers, until the next commit to data.db by any
// process. A caller never receives a value that was read before the last commit at the time of its call. The
// zero value is empty.
type Shared[K comparable, V any] struct {
	// Large reports whether a value takes too much memory to be kept: only callers that waited while it was read
	// share it. nil keeps all.
	Large func(V) bool

	mu     sync.Mutex
	commit commit // after which the values were read
	values map[K]func() V
}

// Get returns the value of the key. It calls read unless another one does or has since the last commit. Without a
// readable WAL index, it always calls read.
func (s *Shared[K, V]) Get(app core.App, key K, read func() V) V {
	return s.reader(app, key, read)()
}

// reader returns the function that returns the value.
func (s *Shared[K, V]) reader(app core.App, key K, read func() V) func() V {
	commits := commitsOf(app)
	if commits == nil {
		return read
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	last := commits.last()
	if !last.known() {
		return read
	}
	if last != s.commit {
		s.commit, s.values = last, map[K]func() V{}
	}
	if shared, ok := s.values[key]; ok {
		return shared
	}
	shared := sync.OnceValue(func() V {
		value := read()
		if s.Large != nil && s.Large(value) {
			s.forget(key)
		}
		return value
	})
	s.values[key] = shared
	time.AfterFunc(sharedAge, func() { s.forget(key) })
	return shared
}

func (s *Shared[K, V]) forget(key K) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.values, key)
}
