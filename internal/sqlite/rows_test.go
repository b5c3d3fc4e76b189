package sqlite

import (
	"database/sql"
	"errors"
	"slices"
	"testing"
)

// All ways to read rows return errors that occur after the first row, and release their connection.
func TestRows(t *testing.T) {
	t.Parallel()
	readers, _ := pools(t)
	readers.SetMaxOpenConns(1) // rows that stay open would hold up the next query
	const three, torn = "SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT ?", "SELECT 1 UNION ALL SELECT json('{') WHERE ? > 0"
	stopped := errors.New("stopped")

	var seen []int
	see := func(rows *sql.Rows) error {
		var n int
		err := rows.Scan(&n)
		if seen = append(seen, n); n == 2 {
			err = stopped
		}
		return err
	}
	if err := Each(readers, three, see, 3); !errors.Is(err, stopped) || !slices.Equal(seen, []int{1, 2}) {
		t.Errorf("Each found %v (%v)", seen, err)
	}
	if err := Each(readers, torn, see, 1); err == nil {
		t.Error("Each loses an error after a row")
	}
	if got, err := Value[int](readers, three, 3); got != 1 || err != nil {
		t.Errorf("the value is %d (%v)", got, err)
	}
	if got, err := Value[string](readers, "SELECT 1 WHERE ? > 1", 1); got != "" || err != nil {
		t.Errorf("the value of no row is %q (%v)", got, err)
	}
	if got, err := Values[int](readers, three, 3); !slices.Equal(got, []int{1, 2, 3}) || err != nil {
		t.Errorf("the values are %v (%v)", got, err)
	}
	if _, err := Values[int](readers, torn, 1); err == nil {
		t.Error("Values loses an error after a row")
	}
	const wrong = "SELECT `nothing`"
	_, one := Value[int](readers, wrong)
	_, many := Values[int](readers, wrong)
	_, null := Value[int](readers, "SELECT NULL")
	_, nulls := Values[int](readers, "SELECT NULL")
	if each := Each(readers, wrong, see); each == nil || one == nil || many == nil || null == nil || nulls == nil {
		t.Errorf("errors are lost: %v, %v, %v, %v, %v", each, one, many, null, nulls)
	}
	if taken := readers.Stats().InUse; taken != 0 {
		t.Errorf("%d connections are still in use", taken)
	}
}
