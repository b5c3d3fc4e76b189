package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
)

// caching returns a writer whose write function records the cached value, inserts a row, and caches its name.
func caching(writers *sql.DB, name string, found *[]string) func() error {
	return func() error {
		_, err := writeAs(context.Background(), writers, byFunction, "", func(tx Reader) ([]Statement, error) {
			value, ok := CachedInBatch[string](tx)
			if !ok {
				value = "nothing"
			}
			*found = append(*found, value)
			CacheInBatch(tx, name)
			return []Statement{{"INSERT INTO things (name) VALUES (?)", []any{name}}}, nil
		})
		return err
	}
}

// A cached value is available to the next write function in the batch, unless another transaction has
// written in between.
func TestBatchCache(t *testing.T) {
	t.Parallel()
	noFunction := func(writers *sql.DB) func() error {
		return inTransaction(writers, func(tx *sql.Tx) error {
			_, err := tx.Exec("DELETE FROM things WHERE name = 'nobody'")
			return err
		})
	}
	reading := func(writers *sql.DB) func() error {
		return func() error {
			_, err := writeAs(context.Background(), writers, byFunction, "", func(tx Reader) ([]Statement, error) {
				_, err := Values[string](tx, names)
				return nil, err
			})
			return err
		}
	}
	for name, test := range map[string]struct {
		between func(writers *sql.DB) func() error
		fails   bool
		want    string
	}{
		"nobody":              {func(*sql.DB) func() error { return func() error { return nil } }, false, "nothing a b"},
		"a transaction":       {noFunction, false, "nothing a nothing"},
		"a single statement":  {func(writers *sql.DB) func() error { return single(writers, "x") }, false, "nothing a nothing"},
		"another function":    {func(writers *sql.DB) func() error { return insert(writers, "x") }, false, "nothing a nothing"},
		"one that reads":      {reading, false, "nothing a b"},
		"one that is refused": {func(writers *sql.DB) func() error { return insert(writers, "a") }, true, "nothing a b"},
		"one that rolls back": {func(writers *sql.DB) func() error {
			return inTransaction(writers, func(tx *sql.Tx) error {
				mustExec(t, tx, "INSERT INTO things (name) VALUES ('x')")
				return errors.New("refused")
			})
		}, true, "nothing a nothing"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				_, writers := pools(t)
				var found []string
				errs := together(t, writers, caching(writers, "a", &found), caching(writers, "b", &found), test.between(writers), caching(writers, "c", &found))
				if errs[0] != nil || errs[1] != nil || (errs[2] != nil) != test.fails || errs[3] != nil {
					t.Errorf("the writers return %v", errs)
				}
				if got := strings.Join(found, " "); got != test.want {
					t.Errorf("found %q, want %q", got, test.want)
				}
				if err := caching(writers, "d", &found)(); err != nil || found[len(found)-1] != "nothing" {
					t.Errorf("in another batch, a write function finds %q (%v)", found[len(found)-1], err)
				}
			})
		})
	}
}

// A write function that runs again because its batch failed finds no value of that batch.
func TestFailedBatchEmptiesCache(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		readers, writers := pools(t)
		var found []string
		errs := together(t, writers,
			caching(writers, "a", &found),
			function(writers,
				Statement{"INSERT INTO things (name) VALUES ('x')", nil},
				Statement{"INSERT INTO things (name) VALUES ('x')", nil}), // which takes the transaction down
			caching(writers, "b", &found),
		)
		if errs[0] != nil || errs[1] == nil || errs[2] != nil {
			t.Errorf("the writers return %v", errs)
		}
		for _, value := range found {
			if value != "nothing" {
				t.Errorf("found %q", found)
			}
		}
		if got := column(t, readers, names); got != "a b" {
			t.Errorf("got %q", got)
		}
	})
}
