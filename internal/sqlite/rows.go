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
	rows, err := tx.Query(query, args...)
	if err != nil {
		return value, err
	}
	defer rows.Close()
	if rows.Next() {
		err = rows.Scan(&value)
	}
	return value, errors.Join(err, rows.Err())
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
