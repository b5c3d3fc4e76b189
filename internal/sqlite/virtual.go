package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"

	"contactbase/internal/sqlite/physical"
)

// virtual is a connection of the writing pool. All virtual connections share the physical connection of the writer.
type virtual struct {
	writer *writer
	tx     *transaction // the open one, nil outside of one
}

// ExecContext implements driver.ExecerContext.
func (v *virtual) ExecContext(
	ctx context.Context, query string, args []driver.NamedValue,
) (result driver.Result, err error) {
	if query == awaitLock {
		if v.tx == nil {
			return driver.ResultNoRows, nil
		}
		return driver.ResultNoRows, v.tx.lock(ctx)
	}
	s := physical.Parse(query)
	if len(args) == 1 {
		if lists, ok := args[0].Value.(repeated); ok {
			return v.repeat(ctx, s, lists)
		}
	}
	return v.exec(ctx, s, args)
}

func (v *virtual) exec(
	ctx context.Context, s physical.Statement, args []driver.NamedValue,
) (result driver.Result, err error) {
	err = v.run(ctx, s, func(ctx context.Context, c *physical.Connection) (err error) {
		result, err = c.Exec(ctx, s, args)
		return err
	})
	return result, err
}

// repeated has the lists of arguments of a statement that runs once for each: see Repeat.
type repeated [][]any

func (v *virtual) repeat(ctx context.Context, s physical.Statement, lists repeated) (driver.Result, error) {
	if v.tx == nil {
		return nil, errors.New("a repeated statement needs a transaction")
	}
	var changed int64
	var args []driver.NamedValue
	for done, list := range lists {
		args = args[:0]
		for i, value := range list {
			value, err := driver.DefaultParameterConverter.ConvertValue(value)
			if err != nil {
				return nil, &StatementError{Done: done, Err: err}
			}
			args = append(args, driver.NamedValue{Ordinal: i + 1, Value: value})
		}
		result, err := v.exec(ctx, s, args)
		if err != nil {
			return nil, &StatementError{Done: done, Err: err}
		}
		rows, err := result.RowsAffected()
		if err != nil {
			return nil, &StatementError{Done: done, Err: err}
		}
		changed += rows
	}
	return driver.RowsAffected(changed), nil
}

// CheckNamedValue implements driver.NamedValueChecker.
func (v *virtual) CheckNamedValue(argument *driver.NamedValue) error {
	switch value := argument.Value.(type) {
	case repeated:
		return nil
	case *lockRequest:
		if v.tx != nil && !v.tx.locked {
			v.tx.lockRequest = value
		}
		return driver.ErrRemoveArgument
	default:
		return driver.ErrSkip
	}
}

// QueryContext implements driver.QueryerContext.
func (v *virtual) QueryContext(
	ctx context.Context, query string, args []driver.NamedValue,
) (result driver.Rows, err error) {
	s := physical.Parse(query)
	err = v.run(ctx, s, func(ctx context.Context, c *physical.Connection) (err error) {
		if result, err = c.Query(ctx, s, args); err != nil || v.tx != nil {
			return err
		}
		// The lock is released before the caller reads.
		result, err = physical.Buffer(result)
		return err
	})
	return result, err
}

// run runs a statement in the open transaction, as a transaction of its own, or outside of any.
func (v *virtual) run(
	ctx context.Context, s physical.Statement, run func(context.Context, *physical.Connection) error,
) error {
	switch {
	case v.tx != nil:
		return v.tx.run(ctx, s, run)
	case s.Kind == physical.Write:
		return v.writer.write(ctx, run)
	default:
		return v.writer.exclusive(ctx, run)
	}
}

// BeginTx implements driver.ConnBeginTx. It ignores the options. The transaction waits for the writer lock with
// its first statement.
func (v *virtual) BeginTx(context.Context, driver.TxOptions) (driver.Tx, error) {
	v.tx = &transaction{lockRequest: &lockRequest{}, connection: v}
	return v.tx, nil
}

// Begin implements driver.Conn.
func (v *virtual) Begin() (driver.Tx, error) {
	return v.BeginTx(context.Background(), driver.TxOptions{})
}

// Prepare implements driver.Conn. The physical connection compiles the statement when it runs, and reports
// errors only then.
func (v *virtual) Prepare(query string) (driver.Stmt, error) {
	return &deferredStatement{connection: v, query: query}, nil
}

// Close implements driver.Conn. The physical connection stays open until the pool is closed.
func (v *virtual) Close() error { return nil }

// deferredStatement is a prepared statement of a virtual connection.
type deferredStatement struct {
	connection *virtual
	query      string
}

// ExecContext implements driver.StmtExecContext.
func (s *deferredStatement) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	return s.connection.ExecContext(ctx, s.query, args)
}

// QueryContext implements driver.StmtQueryContext.
func (s *deferredStatement) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	return s.connection.QueryContext(ctx, s.query, args)
}

// Exec implements driver.Stmt. database/sql calls ExecContext instead.
func (s *deferredStatement) Exec([]driver.Value) (driver.Result, error) { return nil, driver.ErrSkip }

// Query implements driver.Stmt. database/sql calls QueryContext instead.
func (s *deferredStatement) Query([]driver.Value) (driver.Rows, error) { return nil, driver.ErrSkip }

// NumInput implements driver.Stmt. The number of parameters is unknown.
func (s *deferredStatement) NumInput() int { return -1 }

// Close implements driver.Stmt.
func (s *deferredStatement) Close() error { return nil }
