package physical

import (
	"database/sql/driver"
	"errors"
	"io"
)

// buffered is rows that have been read to the end, so that they no longer need a connection.
type buffered struct {
	columns []string
	types   []string // the declared types in upper case, "" for none
	values  [][]driver.Value
}

// Buffer reads rows to the end and closes them.
func Buffer(from driver.Rows) (_ driver.Rows, err error) {
	defer func() {
		if closed := from.Close(); err == nil {
			err = closed
		}
	}()
	b := &buffered{columns: from.Columns()}
	if typed, ok := from.(driver.RowsColumnTypeDatabaseTypeName); ok {
		for i := range b.columns {
			b.types = append(b.types, typed.ColumnTypeDatabaseTypeName(i))
		}
	}
	for {
		row := make([]driver.Value, len(b.columns))
		err := from.Next(row)
		if errors.Is(err, io.EOF) {
			return b, nil
		}
		if err != nil {
			return nil, err
		}
		b.values = append(b.values, row)
	}
}

// Columns implements driver.Rows.
func (b *buffered) Columns() []string { return b.columns }

// ColumnTypeDatabaseTypeName implements driver.RowsColumnTypeDatabaseTypeName.
func (b *buffered) ColumnTypeDatabaseTypeName(index int) string { return b.types[index] }

// Close implements driver.Rows.
func (b *buffered) Close() error {
	b.values = nil
	return nil
}

// Next implements driver.Rows.
func (b *buffered) Next(dest []driver.Value) error {
	if len(b.values) == 0 {
		return io.EOF
	}
	copy(dest, b.values[0])
	b.values = b.values[1:]
	return nil
}
