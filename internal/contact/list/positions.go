package list

import (
	"slices"
	"sync"
	"time"
)

// The limits of what is remembered.
const (
	maxLists     = 64
	maxPositions = 512 // of each list
	maxAge       = time.Minute
)

// positions remembers positions in the lists that were read last. The zero value is ready for use, by several
// goroutines at once.
type positions struct {
	mu    sync.Mutex
	lists map[string]*listPositions
}

// listPositions has the positions of a list. They are valid for one end of the tenant's feed.
type listPositions struct {
	end   string // of the tenant's feed
	begun time.Time
	used  time.Time
	found []position // by rank
}

// nearest returns the last position up to an offset, or the start of the list if none is known for
// that end of the feed.
func (p *positions) nearest(list, end string, offset int) position {
	p.mu.Lock()
	defer p.mu.Unlock()
	known := p.lists[list]
	if known == nil || known.end != end || time.Since(known.begun) > maxAge {
		return position{}
	}
	known.used = time.Now()
	after, found := known.search(offset)
	switch {
	case found:
		return known.found[after]
	case after == 0:
		return position{}
	default:
		return known.found[after-1]
	}
}

// remember stores a position that was found for an end of the feed. It ignores one without a cursor.
func (p *positions) remember(list, end string, reached position) {
	if reached.cursor == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	known := p.lists[list]
	if known == nil || known.end != end || now.Sub(known.begun) > maxAge {
		known = &listPositions{end: end, begun: now}
		p.add(list, known)
	}
	known.used = now
	if at, found := known.search(reached.rank); !found {
		known.found = slices.Insert(known.found, at, reached)
	}
	if len(known.found) > maxPositions {
		known.thin()
	}
}

// add stores the positions of a list. If there are too many lists, it forgets the one that was used least recently.
func (p *positions) add(list string, known *listPositions) {
	if p.lists == nil {
		p.lists = make(map[string]*listPositions, maxLists)
	}
	if p.lists[list] == nil && len(p.lists) >= maxLists {
		oldest := ""
		for name, other := range p.lists {
			if oldest == "" || other.used.Before(p.lists[oldest].used) {
				oldest = name
			}
		}
		delete(p.lists, oldest)
	}
	p.lists[list] = known
}

func (l *listPositions) search(rank int) (int, bool) {
	return slices.BinarySearchFunc(l.found, rank, func(p position, rank int) int { return p.rank - rank })
}

// thin forgets every other position.
func (l *listPositions) thin() {
	kept := l.found[:0]
	for i, p := range l.found {
		if i%2 == 0 {
			kept = append(kept, p)
		}
	}
	clear(l.found[len(kept):])
	l.found = kept
}
