package sqlite

import (
	"database/sql"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
)

// handing returns a writer whose write function records what it is given, inserts a row, and hands on its name.
func handing(writers *sql.DB, name string, given *[]string) func() error {
	return func() error {
		_, err := writeWith(writers, func(tx Reader) ([]Statement, error) {
			value, ok := Handed[string](tx)
			if !ok {
				value = "nothing"
			}
			*given = append(*given, value)
			HandOn(tx, name)
			return []Statement{{"INSERT INTO things (name) VALUES (?)", []any{name}}}, nil
		})
		return err
	}
}

// What a write function hands on is for the next one in the same batch, unless another transaction has written in between.
func TestHandOn(t *testing.T) {
	t.Parallel()
	noPlan := func(writers *sql.DB) func() error {
		return inTransaction(writers, func(tx *sql.Tx) error {
			_, err := tx.Exec("DELETE FROM things WHERE name = 'nobody'")
			return err
		})
	}
	reading := func(writers *sql.DB) func() error {
		return func() error {
			_, err := writeWith(writers, func(tx Reader) ([]Statement, error) {
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
		"a transaction":       {noPlan, false, "nothing a nothing"},
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
				var given []string
				errs := together(t, writers, handing(writers, "a", &given), handing(writers, "b", &given), test.between(writers), handing(writers, "c", &given))
				if errs[0] != nil || errs[1] != nil || (errs[2] != nil) != test.fails || errs[3] != nil {
					t.Errorf("they end with %v", errs)
				}
				if got := strings.Join(given, " "); got != test.want {
					t.Errorf("they are given %q instead of %q", got, test.want)
				}
				if err := handing(writers, "d", &given)(); err != nil || given[len(given)-1] != "nothing" {
					t.Errorf("in another batch a write function is given %q, %v", given[len(given)-1], err)
				}
			})
		})
	}
}

// A write function that runs again because its batch failed is given nothing of that batch.
func TestHandOnEndsWithTheTransaction(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		readers, writers := pools(t)
		var given []string
		errs := together(t, writers,
			handing(writers, "a", &given),
			function(writers,
				Statement{"INSERT INTO things (name) VALUES ('x')", nil},
				Statement{"INSERT INTO things (name) VALUES ('x')", nil}), // which takes the transaction down
			handing(writers, "b", &given),
		)
		if errs[0] != nil || errs[1] == nil || errs[2] != nil {
			t.Errorf("they end with %v", errs)
		}
		for _, value := range given {
			if value != "nothing" {
				t.Errorf("they are given %q", given)
			}
		}
		if got := column(t, readers, names); got != "a b" {
			t.Errorf("there is %q", got)
		}
	})
}
