package list

import (
	"slices"
	"sync"
	"time"
)

// The limits of the cache.
const (
	maxLists  = 64
	maxPlaces = 512 // of each list
	maxAge    = time.Minute
)

// places remembers places of the lists that were read last. The zero places are ready for use, by many at once.
type places struct {
	mu    sync.Mutex
	lists map[string]*placesOfList
}

// placesOfList are the places of a list while the tenant's feed ended at its end.
type placesOfList struct {
	end   string // of the tenant's feed
	begun time.Time
	used  time.Time
	found []place // by rank
}

// nearest returns the last place in front of an offset, the start of the list where none is known for that end of the feed.
func (p *places) nearest(list, end string, offset int) place {
	p.mu.Lock()
	defer p.mu.Unlock()
	known := p.lists[list]
	if known == nil || known.end != end || time.Since(known.begun) > maxAge {
		return place{}
	}
	known.used = time.Now()
	behind, found := known.search(offset)
	switch {
	case found:
		return known.found[behind]
	case behind == 0:
		return place{}
	default:
		return known.found[behind-1]
	}
}

// remember keeps a place that was found while the feed ended there. One without a cursor is none.
func (p *places) remember(list, end string, reached place) {
	if reached.cursor == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	known := p.lists[list]
	if known == nil || known.end != end || now.Sub(known.begun) > maxAge {
		known = &placesOfList{end: end, begun: now}
		p.add(list, known)
	}
	known.used = now
	if at, found := known.search(reached.rank); !found {
		known.found = slices.Insert(known.found, at, reached)
	}
	if len(known.found) > maxPlaces {
		known.thin()
	}
}

// add keeps a list, in the place of the one that was asked for the longest time ago where there are too many.
func (p *places) add(list string, known *placesOfList) {
	if p.lists == nil {
		p.lists = make(map[string]*placesOfList, maxLists)
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

func (l *placesOfList) search(rank int) (int, bool) {
	return slices.BinarySearchFunc(l.found, rank, func(p place, rank int) int { return p.rank - rank })
}

// thin forgets every other place.
func (l *placesOfList) thin() {
	kept := l.found[:0]
	for i, p := range l.found {
		if i%2 == 0 {
			kept = append(kept, p)
		}
	}
	clear(l.found[len(kept):])
	l.found = kept
}
