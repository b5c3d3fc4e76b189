// Package recordid makes ids of records that sort by time, so that new rows stand together in every index that holds
// them: in a table of a million rows that is one page to write instead of one for each.
package recordid

import (
	"crypto/rand"
	"encoding/binary"
	"hash/fnv"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	timeLength   = 9 // base36 digits of the Unix time in milliseconds: enough until the year 5188
	randomLength = 6
	room         = 36 * 36 * 36 * 36 * 36 * 36 // as many ids as a millisecond has
)

// last is the id that New made last.
var last struct {
	sync.Mutex
	milli  int64
	number int64
}

// New returns an id of 15 characters as PocketBase allows them: milliseconds, and a number in them that begins by
// chance and counts up, so that one process makes no id twice.
func New(at time.Time) string {
	milli := at.UnixMilli()
	last.Lock()
	defer last.Unlock()
	if milli == last.milli && last.number+1 < room {
		last.number++
	} else {
		last.milli, last.number = milli, chance()
	}
	return base36(last.milli, timeLength) + base36(last.number, randomLength)
}

// Derived returns an id that is always the same for that time and those parts. It looks like one of New, and sorts by time as those
// do. Two ids of a millisecond are the same with a chance of 1 to 2 billion, so that the code that stores one looks for it first.
func Derived(at time.Time, parts ...string) string {
	hash := fnv.New64a()
	for _, part := range parts {
		_, _ = io.WriteString(hash, part+"\n") // which never fails
	}
	return base36(at.UnixMilli(), timeLength) + base36(int64(hash.Sum64()%room), randomLength)
}

func chance() int64 {
	var seed [8]byte
	if _, err := rand.Read(seed[:]); err != nil {
		panic("recordid: the system's random source failed: " + err.Error()) // as crypto/rand.Read does
	}
	return int64(binary.LittleEndian.Uint64(seed[:]) % room)
}

// Following returns the id right behind one that New made, and "" behind any other, where there may be no valid one.
func Following(id string) string {
	if len(id) != timeLength+randomLength {
		return ""
	}
	n, err := strconv.ParseInt(id[timeLength:], 36, 64)
	if err != nil || id != id[:timeLength]+base36(n, randomLength) || n+1 >= room {
		return ""
	}
	return id[:timeLength] + base36(n+1, randomLength)
}

func base36(n int64, length int) string {
	s := strconv.FormatInt(n, 36)
	return strings.Repeat("0", max(0, length-len(s))) + s
}
