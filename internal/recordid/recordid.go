// Package recordid makes ids of records that sort by time. New rows are then neighbours in every index with the id,
// so that a commit writes one page of the index instead of one for each row.
package recordid

import (
	"crypto/rand"
	"database/sql/driver"
	"encoding/binary"
	"strconv"
	"strings"
	"sync"
	"time"

	"modernc.org/sqlite"
)

const (
	timeLength   = 9 // base36 digits of the Unix time in milliseconds: enough until the year 5188
	randomLength = 6
	maxNumbers   = 36 * 36 * 36 * 36 * 36 * 36 // ids per millisecond
)

// last is the last id that New returned.
var last struct {
	sync.Mutex
	milli  int64
	number int64
}

// New returns an id of 15 characters that is valid in PocketBase: the millisecond, and a number in it that starts at
// random and counts up. One process never returns the same id twice.
func New(at time.Time) string {
	milli := at.UnixMilli()
	last.Lock()
	defer last.Unlock()
	if milli == last.milli && last.number+1 < maxNumbers {
		last.number++
	} else {
		last.milli, last.number = milli, randomNumber()
	}
	return base36(last.milli, timeLength) + base36(last.number, randomLength)
}

// From returns the id before all those that New returns at a time or later.
func From(at time.Time) string {
	return base36(max(at.UnixMilli(), 0), timeLength) + strings.Repeat("0", randomLength)
}

func randomNumber() int64 {
	var seed [8]byte
	_, _ = rand.Read(seed[:]) // it never returns an error
	return int64(binary.LittleEndian.Uint64(seed[:]) % maxNumbers)
}

// Following returns the next id after one of New, or "" if id does not have that format or there is no next number
// in its millisecond.
func Following(id string) string {
	if len(id) != timeLength+randomLength {
		return ""
	}
	n, err := strconv.ParseInt(id[timeLength:], 36, 64)
	if err != nil || id != id[:timeLength]+base36(n, randomLength) || n+1 >= maxNumbers {
		return ""
	}
	return id[:timeLength] + base36(n+1, randomLength)
}

func base36(n int64, length int) string {
	s := strconv.FormatInt(n, 36)
	return strings.Repeat("0", max(0, length-len(s))) + s
}

// Function is the SQL function that calls New, for a statement that inserts many rows.
const Function = "new_record_id()"

func init() {
	sqlite.MustRegisterScalarFunction("new_record_id", 0,
		func(*sqlite.FunctionContext, []driver.Value) (driver.Value, error) {
			return New(time.Now()), nil
		})
}
