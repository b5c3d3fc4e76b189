// Package physical is the connections of the driver, each with a cache of compiled statements, and the rows
// that they return.
package physical

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// Raw is what the driver offers of a connection.
type Raw interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
	driver.SessionResetter
	driver.Validator
	sqlite.HookRegisterer
}

// rawRows is what the driver offers of rows.
type rawRows interface {
	driver.Rows
	driver.RowsColumnTypeDatabaseTypeName
	driver.RowsColumnTypeLength
	driver.RowsColumnTypeNullable
	driver.RowsColumnTypePrecisionScale
	driver.RowsColumnTypeScanType
}

// Connection is a physical connection with a cache of compiled statements. SQLite recompiles a statement after a
// change of the schema.
type Connection struct {
	Raw
	statements *statements
}

// Open opens a connection that keeps that many compiled statements.
func Open(d driver.Driver, dataSource string, statements int) (*Connection, error) {
	opened, err := d.Open(dataSource)
	if err != nil {
		return nil, err
	}
	raw, ok := opened.(Raw)
	if !ok {
		_ = opened.Close()
		return nil, fmt.Errorf("the driver's connections (%T) lack methods that this package needs", opened)
	}
	return &Connection{Raw: raw, statements: newStatements(statements)}, nil
}

// Close implements driver.Conn.
func (c *Connection) Close() error {
	c.statements.close()
	c.RegisterCommitHook(nil) // the driver stores it by the address of the connection, which may be reused
	return c.Raw.Close()
}

// ErrReadOnly is the error of a statement that writes on a connection for reading: nothing of it is in the database.
var ErrReadOnly = errors.New("the statement writes data but does not begin with INSERT, " +
	"UPDATE, DELETE or REPLACE: rewrite it to begin with one of them")

// ExecContext implements driver.ExecerContext.
func (c *Connection) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	result, err := c.Exec(ctx, Parse(query), args)
	return result, refused(err)
}

// QueryContext implements driver.QueryerContext.
func (c *Connection) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	found, err := c.Query(ctx, Parse(query), args)
	return found, refused(err)
}

// refused returns ErrReadOnly for the error of a commit that the commit hook of a reader has turned into a rollback.
func refused(err error) error {
	if err == nil {
		return nil
	}
	var failure *sqlite.Error
	if errors.As(err, &failure) && failure.Code() == sqlite3.SQLITE_CONSTRAINT_COMMITHOOK {
		return ErrReadOnly
	}
	return err
}

// analyzeSQL is how PocketBase updates the statistics of the query planner, after each change of a collection.
const analyzeSQL = "PRAGMA optimize"

// Exec runs a statement. Unless its kind is Other, it compiles the statement once.
func (c *Connection) Exec(ctx context.Context, s Statement, args []driver.NamedValue) (driver.Result, error) {
	if s.Text == analyzeSQL {
		// With statistics from the first minutes of an installation, when tables are nearly empty, SQLite would still
		// scan them when they are large. Without statistics it uses the indexes.
		return driver.RowsAffected(0), nil
	}
	if s.Kind == Other {
		return c.Raw.ExecContext(ctx, s.Text, args)
	}
	prepared, err := c.prepare(ctx, s.Text)
	if err != nil {
		return nil, err
	}
	result, err := prepared.ExecContext(ctx, args)
	if err != nil {
		_ = prepared.Close() // it repeats the error
		return nil, err
	}
	c.statements.put(s.Text, prepared)
	return result, nil
}

// Query is Exec for a statement that returns rows. The caller closes them.
func (c *Connection) Query(ctx context.Context, s Statement, args []driver.NamedValue) (driver.Rows, error) {
	if s.Kind == Other {
		return c.Raw.QueryContext(ctx, s.Text, args)
	}
	prepared, err := c.prepare(ctx, s.Text)
	if err != nil {
		return nil, err
	}
	found, err := prepared.QueryContext(ctx, args)
	if err != nil {
		_ = prepared.Close() // it repeats the error
		return nil, err
	}
	return &rows{rawRows: found.(rawRows), connection: c, text: s.Text, prepared: prepared}, nil
}

// prepare returns a cached statement or compiles it.
func (c *Connection) prepare(ctx context.Context, text string) (preparedStatement, error) {
	if prepared := c.statements.take(text); prepared != nil {
		return prepared, nil
	}
	prepared, err := c.PrepareContext(ctx, text)
	if err != nil {
		return nil, err
	}
	return prepared.(preparedStatement), nil
}

// rows returns its statement to the connection when it is closed, which resets the statement.
type rows struct {
	rawRows
	connection *Connection
	text       string
	prepared   preparedStatement // nil once closed
}

// Close implements driver.Rows.
func (r *rows) Close() error {
	if r.prepared == nil {
		return nil
	}
	prepared := r.prepared
	r.prepared = nil
	if err := r.rawRows.Close(); err != nil {
		_ = prepared.Close() // it repeats the error
		return err
	}
	r.connection.statements.put(r.text, prepared)
	return nil
}
