package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// recorder records which owners' writes run, and has "|" between two batches.
type ownersRecorder struct {
	writers *sql.DB
	order   strings.Builder // the holder of the lock writes it
	commits uint64
}

func (r *ownersRecorder) record(owner string) {
	if now := stats(r.writers).Commits; now != r.commits && r.order.Len() > 0 {
		r.order.WriteString("|")
	}
	r.commits = stats(r.writers).Commits
	r.order.WriteString(owner)
}

// writes returns writers that each run a write function, one for each letter, which is the owner, or "-" for none.
func (r *ownersRecorder) writes(letters string) (each []func() error) {
	for _, letter := range strings.Split(letters, "") {
		each = append(each, func() error {
			_, err := writeAs(context.Background(), r.writers, byFunction, strings.Trim(letter, "-"), func(Reader) ([]Statement, error) {
				r.record(letter)
				return []Statement{{"INSERT INTO things (name) VALUES (NULL)", nil}}, nil
			})
			return err
		})
	}
	return each
}

// transaction returns a writer that runs a short transaction.
func (r *ownersRecorder) transaction(owner string) func() error {
	return func() error {
		tx, err := r.writers.Begin()
		if err != nil {
			return err
		}
		mustNot := func(err error) {
			if err != nil {
				panic(err)
			}
		}
		_, err = tx.Exec(awaitLock, &lockRequest{owner: owner, short: true})
		mustNot(err)
		_, err = tx.Exec(awaitLock, &lockRequest{}) // too late: it has the lock
		mustNot(err)
		r.record(owner)
		_, err = tx.Exec("INSERT INTO things (name) VALUES (NULL)")
		mustNot(err)
		return tx.Commit()
	}
}

// Owners take turns, in write functions and transactions. One that has many writes gets few of a batch while
// another one writes.
func TestOwnersTakeTurns(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ waiting, want string }{
		"alone":                    {"aaaaaaaaaaaa", "aaaaaaaaaaaa"},
		"nobody's writes":          {"a-a-a-aaaaaaaaa-", "a-a-a-a-aaaaaaaa"},
		"beside a neighbour":       {"aaaaaaaaaaaaaab", "abaaa|aaaaaaaa|aa"},
		"a transaction":            {"aaaaaabB", "abaBaa|aa"},
		"two with many":            {"aaaaaabbbbbb", "abababab|abab"},
		"a neighbour with several": {"aaaaaaabbb-", "ab-ababa|aaa"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				_, writers := pools(t)
				r := &ownersRecorder{writers: writers}
				mustExec(t, writers, "DELETE FROM things")
				// only the owner that wrote last is known
				if err := errors.Join(together(t, writers, r.writes("a")...)...); err != nil {
					t.Fatal(err)
				}
				time.Sleep(recently)
				r.order.Reset()
				each := r.writes(tc.waiting)
				for i, letter := range tc.waiting {
					if letter == 'B' {
						each[i] = r.transaction("b")
					}
				}
				if err := errors.Join(together(t, writers, each...)...); err != nil {
					t.Fatal(err)
				}
				if got := r.order.String(); got != strings.ToLower(tc.want) {
					t.Errorf("%s are written as %s, want %s", tc.waiting, got, tc.want)
				}
			})
		})
	}
}
