package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// rawConnection is what the driver offers of a connection.
type rawConnection interface {
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

// connection is a physical connection with a cache of compiled statements. SQLite recompiles a statement after a change of the schema.
type connection struct {
	rawConnection
	statements *statements
}

func newConnection(d driver.Driver, dataSource string, statements int) (*connection, error) {
	opened, err := d.Open(dataSource)
	if err != nil {
		return nil, err
	}
	raw, ok := opened.(rawConnection)
	if !ok {
		_ = opened.Close()
		return nil, fmt.Errorf("the driver's connections (%T) lack methods that this package needs", opened)
	}
	return &connection{rawConnection: raw, statements: newStatements(statements)}, nil
}

// Close implements driver.Conn.
func (c *connection) Close() error {
	c.statements.close()
	c.RegisterCommitHook(nil) // the driver stores it by the address of the connection, which may be reused
	return c.rawConnection.Close()
}

// ErrReadOnly is the error of a statement that writes on a connection for reading: nothing of it is in the database.
var ErrReadOnly = errors.New("the statement writes data but does not begin with INSERT, UPDATE, DELETE or REPLACE: rewrite it to begin with one of them")

// ExecContext implements driver.ExecerContext.
func (c *connection) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	result, err := c.exec(ctx, parse(query), args)
	return result, refused(err)
}

// QueryContext implements driver.QueryerContext.
func (c *connection) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	found, err := c.query(ctx, parse(query), args)
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

func (c *connection) exec(ctx context.Context, s statement, args []driver.NamedValue) (driver.Result, error) {
	if s.text == analyzeSQL {
		// With statistics from the first minutes of an installation, when tables are nearly empty, SQLite would still scan them when they are
		// large. Without statistics it uses the indexes.
		return driver.RowsAffected(0), nil
	}
	if s.kind == kindOther {
		return c.rawConnection.ExecContext(ctx, s.text, args)
	}
	return c.execPrepared(ctx, s.text, args)
}

func (c *connection) execPrepared(ctx context.Context, text string, args []driver.NamedValue) (driver.Result, error) {
	prepared, err := c.prepare(ctx, text)
	if err != nil {
		return nil, err
	}
	result, err := prepared.ExecContext(ctx, args)
	if err != nil {
		_ = prepared.Close() // it repeats the error
		return nil, err
	}
	c.statements.put(text, prepared)
	return result, nil
}

func (c *connection) query(ctx context.Context, s statement, args []driver.NamedValue) (driver.Rows, error) {
	if s.kind == kindOther {
		return c.rawConnection.QueryContext(ctx, s.text, args)
	}
	prepared, err := c.prepare(ctx, s.text)
	if err != nil {
		return nil, err
	}
	found, err := prepared.QueryContext(ctx, args)
	if err != nil {
		_ = prepared.Close() // it repeats the error
		return nil, err
	}
	return &rows{rawRows: found.(rawRows), connection: c, text: s.text, prepared: prepared}, nil
}

// prepare returns a cached statement or compiles it.
func (c *connection) prepare(ctx context.Context, text string) (preparedStatement, error) {
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
	connection *connection
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
