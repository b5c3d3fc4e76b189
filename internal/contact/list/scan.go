package list

import (
	"cmp"
	"database/sql"
	"errors"
	"maps"
	"slices"
	"strings"

	"contactbase/internal/contact"
	"contactbase/internal/contact/search"
	"contactbase/internal/sqlite"
)

const (
	// maxScanned is how many rows a page reads, apart from the other rows with its last key.
	maxScanned = 100_000

	// maxSeconds is how many second values of a key a page remembers: a name may have a million companies.
	maxSeconds = 20_000
)

// member is a contact of a group.
type member struct {
	age    string
	number int64
}

func (m member) compare(other member) int {
	return cmp.Or(strings.Compare(m.age, other.age), cmp.Compare(m.number, other.number))
}

// candidates are contacts with the same key and second value.
type candidates struct {
	key, second string // of the oldest
	count       int
	oldest      []member // as many as can be merged at once
}

func (c *candidates) add(key, second string, m member) {
	c.count++
	at, _ := slices.BinarySearchFunc(c.oldest, m, member.compare)
	if at == 0 {
		c.key, c.second = key, second
	}
	if at <= contact.MaxMerged {
		c.oldest = slices.Insert(c.oldest[:min(len(c.oldest), contact.MaxMerged)], at, m)
	}
}

func (c *candidates) numbers() []int64 {
	numbers := make([]int64, len(c.oldest))
	for i, m := range c.oldest {
		numbers[i] = m.number
	}
	return numbers
}

// scan reads a page of groups, in the order of their keys and second values. Letters of ASCII are equal in both cases,
// as in the index.
type scan struct {
	q          DuplicatesQuery
	maxScanned int
	maxSeconds int

	rows     int    // that were read
	key      string // of the group of the last one
	bySecond map[string]*candidates
	// if not empty: candidates of the key with this second value or a greater one are left to the next page
	cut    string
	groups []*candidates
	next   *groupCursor // of the next page, nil for none
}

func newScan(q DuplicatesQuery) *scan {
	return &scan{q: q, maxScanned: maxScanned, maxSeconds: maxSeconds, bySecond: map[string]*candidates{}}
}

// errPageFull ends the reading of rows.
var errPageFull = errors.New("the page is full")

func (s *scan) read(tx sqlite.Reader, tenantID string) error {
	err := sqlite.Each(tx, s.q.compare.rowsSQL(), func(rows *sql.Rows) error {
		var key, second string
		var m member
		if err := rows.Scan(&key, &second, &m.age, &m.number); err != nil {
			return err
		}
		group, key := keysOf(key)
		if group != s.key {
			if s.endKey(); s.next == nil && s.rows >= s.maxScanned {
				s.next = &groupCursor{By: s.q.after.By, Key: s.key}
			}
			if s.next != nil {
				return errPageFull
			}
			s.key = group
		}
		s.add(key, second, m)
		return nil
	}, tenantID, s.q.after.Key, s.q.after.Second)
	if errors.Is(err, errPageFull) {
		return nil
	}
	s.endKey()
	return err
}

// keysOf returns the key of a row's group, and what it shows: of a NameKey the two parts.
func keysOf(key string) (group, shown string) {
	if folded, name, found := strings.Cut(key, search.NameMark); found {
		return folded, name
	}
	return foldASCII(key), key
}

func (s *scan) add(key, second string, m member) {
	s.rows++
	folded := foldASCII(second)
	if s.cut != "" && folded >= s.cut {
		return
	}
	c := s.bySecond[folded]
	if c == nil {
		c = &candidates{}
		s.bySecond[folded] = c
	}
	c.add(key, second, m)
	if len(s.bySecond) > 2*s.maxSeconds {
		seconds := slices.Sorted(maps.Keys(s.bySecond))
		s.cut = seconds[s.maxSeconds]
		maps.DeleteFunc(s.bySecond, func(second string, _ *candidates) bool { return second >= s.cut })
	}
}

// endKey adds the groups of the key to the page, and sets the cursor if more of them may follow.
func (s *scan) endKey() {
	seconds := slices.Sorted(maps.Keys(s.bySecond))
	for _, second := range seconds {
		if c := s.bySecond[second]; c.count > 1 {
			s.groups = append(s.groups, c)
		}
		if len(s.groups) == s.q.limit {
			s.next = &groupCursor{By: s.q.after.By, Key: s.key, Second: &second}
			return
		}
	}
	if s.cut != "" {
		s.next = &groupCursor{By: s.q.after.By, Key: s.key, Second: &seconds[len(seconds)-1]}
	}
	clear(s.bySecond)
	s.cut = ""
}

// foldASCII returns a text that is equal for texts that SQLite's NOCASE compares as equal.
func foldASCII(s string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}
