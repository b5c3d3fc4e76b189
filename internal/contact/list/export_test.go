package list

import (
	"testing"

	"contactbase/internal/contact"
	"contactbase/internal/sqlite"
)

// DuplicatesSQL returns the queries for the rows that are compared, and for the contacts of a group.
func DuplicatesSQL(by string) (rows, contacts string) {
	return comparisons[by].rowsSQL(), comparisons[by].contactsSQL("c.`id`")
}

// CandidateGroup is a group of duplicates.
type CandidateGroup struct {
	Key, Second string // with ASCII letters in lower case
	Count       int
	Members     []int64 // the numbers of rows, the oldest first
}

// ScanAll returns the groups of all pages, with small bounds for what a page reads and remembers, and the number of
// pages.
func ScanAll(
	t *testing.T, tx sqlite.Reader, tenantID, by string, limit, maxScanned, maxSeconds int,
) (groups []CandidateGroup, pages int) {
	t.Helper()
	q := DuplicatesQuery{compare: comparisons[by], limit: limit, after: groupCursor{By: by}}
	for {
		s := newScan(q)
		s.maxScanned, s.maxSeconds = maxScanned, maxSeconds
		if err := s.read(tx, tenantID); err != nil {
			t.Fatal(err)
		}
		pages++
		for _, c := range s.groups {
			groups = append(groups, CandidateGroup{foldASCII(c.key), foldASCII(c.second), c.count, c.numbers()})
		}
		if s.next == nil {
			return groups, pages
		}
		q.after = *s.next
	}
}

// MostMembers is how many members a group has at most.
const MostMembers = contact.MaxMerged + 1
