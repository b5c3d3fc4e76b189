package sqlite

import (
	"database/sql"
	"errors"
)

// Each calls scan for each row of a query, until scan returns an error.
func Each(tx Reader, query string, scan func(*sql.Rows) error, args ...any) error {
	rows, err := tx.Query(query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// Value returns the single value of a query, or the zero value if there is no row.
func Value[T any](tx Reader, query string, args ...any) (value T, err error) {
	_, err = Row(tx, []any{&value}, query, args...)
	return value, err
}

// Row scans the first row of a query into the targets, and reports whether there is one.
func Row(tx Reader, targets []any, query string, args ...any) (found bool, err error) {
	rows, err := tx.Query(query, args...)
	if err != nil {
		return false, err
	}
	defer rows.Close()
	if found = rows.Next(); found {
		err = rows.Scan(targets...)
	}
	return found, errors.Join(err, rows.Err())
}

// Values returns the values of a query of one column.
func Values[T any](tx Reader, query string, args ...any) (values []T, err error) {
	err = Each(tx, query, func(rows *sql.Rows) error {
		var value T
		err := rows.Scan(&value)
		values = append(values, value)
		return err
	}, args...)
	return values, err
}
