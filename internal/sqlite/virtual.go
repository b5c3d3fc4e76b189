package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"time"
)

// virtual is a connection of the writing pool.
type virtual struct {
	writer *writer
	member *member // the open transaction, nil outside of one
}

// ExecContext implements driver.ExecerContext.
func (v *virtual) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (result driver.Result, err error) {
	if query == "" {
		return driver.ResultNoRows, nil
	}
	s := parse(query)
	if len(args) == 1 {
		if lists, ok := args[0].Value.(repeated); ok {
			return v.repeat(ctx, s, lists)
		}
	}
	return v.exec(ctx, s, args)
}

func (v *virtual) exec(ctx context.Context, s statement, args []driver.NamedValue) (result driver.Result, err error) {
	err = v.run(ctx, s, func(ctx context.Context, c *connection) (err error) {
		result, err = c.exec(ctx, s, args)
		return err
	})
	if err != nil {
		return nil, err
	}
	return result, nil
}

// repeated is the lists of arguments of a statement that runs once for each of them: see Repeat.
type repeated [][]any

func (v *virtual) repeat(ctx context.Context, s statement, lists repeated) (driver.Result, error) {
	if v.member == nil {
		return nil, errors.New("a statement was to be repeated outside of a transaction")
	}
	var changed int64
	var args []driver.NamedValue
	for done, list := range lists {
		args = args[:0]
		for i, value := range list {
			value, err := driver.DefaultParameterConverter.ConvertValue(value)
			if err != nil {
				return nil, &RepeatError{done, err}
			}
			args = append(args, driver.NamedValue{Ordinal: i + 1, Value: value})
		}
		result, err := v.exec(ctx, s, args)
		if err != nil {
			return nil, &RepeatError{done, err}
		}
		rows, err := result.RowsAffected()
		if err != nil {
			return nil, &RepeatError{done, err}
		}
		changed += rows
	}
	return driver.RowsAffected(changed), nil
}

// short is an argument that is for the open transaction and not for SQLite: see Transact.
type short struct{}

// CheckNamedValue implements driver.NamedValueChecker.
func (v *virtual) CheckNamedValue(argument *driver.NamedValue) error {
	switch argument.Value.(type) {
	case repeated:
		return nil
	case short:
		if v.member != nil {
			v.member.share = true
		}
		return driver.ErrRemoveArgument
	default:
		return driver.ErrSkip
	}
}

// QueryContext implements driver.QueryerContext.
func (v *virtual) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (result driver.Rows, err error) {
	s := parse(query)
	err = v.run(ctx, s, func(ctx context.Context, c *connection) (err error) {
		if result, err = c.query(ctx, s, args); err != nil || v.member != nil {
			return err
		}
		// The turn ends before the caller reads.
		result, err = buffer(result)
		return err
	})
	if err != nil {
		return nil, err
	}
	return result, nil
}

// run has a statement run in the transaction of the connection, as a transaction of its own, or in none.
func (v *virtual) run(ctx context.Context, s statement, run func(context.Context, *connection) error) error {
	switch {
	case v.member != nil:
		return v.member.run(ctx, s, run)
	case s.kind == kindWrite:
		return v.writer.write(ctx, run)
	default:
		return v.writer.alone(ctx, run)
	}
}

// BeginTx implements driver.ConnBeginTx. SQLite has one kind of transaction, whatever the options say.
func (v *virtual) BeginTx(ctx context.Context, _ driver.TxOptions) (driver.Tx, error) {
	w := v.writer
	m := &member{connection: v, deadline: time.Now().Add(patience)}
	if err := w.take(ctx, m.deadline); err != nil {
		return nil, err
	}
	if err := w.open(); err != nil {
		w.leave()
		return nil, err
	}
	v.member = m
	return m, nil
}

// Begin implements driver.Conn.
func (v *virtual) Begin() (driver.Tx, error) {
	return v.BeginTx(context.Background(), driver.TxOptions{})
}

// Prepare implements driver.Conn. The statement is compiled when it runs, on the connection that is shared: only then
// does a mistake in it show.
func (v *virtual) Prepare(query string) (driver.Stmt, error) {
	return &deferredStatement{connection: v, query: query}, nil
}

// Close implements driver.Conn. The physical connection stays, until the pool is closed.
func (v *virtual) Close() error { return nil }

// member is a transaction in a group. It has the turn from its beginning to its end. Its first statement has it join
// the open group if it is short, and otherwise begin one of its own. A savepoint has SQLite keep every page as it was,
// which takes a quarter of the time of a small write and half of that of a large one. So the first member of a group has
// none: with it the group is rolled back. Another one's is made by its first write, until which there is nothing to roll
// back. A plan has none either: what can fail of it comes before its first write, or is that.
type member struct {
	connection *virtual
	deadline   time.Time // for opening the group
	mode       mode
	share      bool   // whether it is short, see Transact
	group      *group // nil before the first statement
	saved      bool   // whether it has a savepoint
	written    bool   // whether there is something to roll back
}

// start puts the transaction into a group.
func (m *member) start(ctx context.Context) error {
	w := m.connection.writer
	if !m.share && m.mode != planned {
		w.settle() // nobody's answer waits for a turn of unknown length
	}
	if err := w.begin(ctx, m.deadline); err != nil {
		return err
	}
	m.group = w.group
	if m.mode == replanned {
		m.group.sealed = true
	}
	return nil
}

func (m *member) run(ctx context.Context, s statement, run func(context.Context, *connection) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if m.group == nil {
		if err := m.start(ctx); err != nil {
			return err
		}
	}
	w := m.connection.writer
	if err := w.check(m.group, nil); err != nil {
		return err
	}
	if m.mode != unplanned && s.kind != kindRead && s.kind != kindWrite {
		return fmt.Errorf("a plan reads and writes rows and does nothing else: %s", s.text)
	}
	if s.kind != kindRead && m.mode == unplanned && !m.saved && m.group.writes > 0 {
		if err := w.check(m.group, w.control(beginMember)); err != nil {
			return err
		}
		m.saved = true
	}
	if s.kind != kindRead && m.mode == unplanned {
		m.group.handed = nil
	}
	// Cancelling a statement may roll back the work of others, so it is not cancelled once it runs.
	err := w.check(m.group, run(context.WithoutCancel(ctx), w.connection))
	if s.kind == kindOther || s.kind != kindRead && err == nil { // a single statement that fails has undone itself
		m.written = true
	}
	return err
}

// Commit implements driver.Tx.
func (m *member) Commit() error {
	w := m.connection.writer
	if err := m.keep(); err != nil || m.group == nil {
		w.leave()
		return err
	}
	return w.join()
}

// Rollback implements driver.Tx. It has nothing to wait for.
func (m *member) Rollback() error {
	err := m.undo()
	m.connection.writer.leave()
	return err
}

// keep leaves what was written to the group.
func (m *member) keep() error {
	if m.saved {
		return m.end(commitMember)
	}
	return m.end()
}

// undo takes back what was written.
func (m *member) undo() error {
	var statements []string
	if m.saved {
		statements = []string{rollbackMember, commitMember}
	}
	err := m.end(statements...)
	if err == nil && m.written && !m.saved {
		err = m.connection.writer.rollback()
	}
	if errors.Is(err, ErrGroup) {
		return nil // what was to be rolled back is gone
	}
	return err
}

// end runs statements that end the savepoint. Where one fails, nobody knows what the outer transaction holds.
func (m *member) end(statements ...string) error {
	m.connection.member = nil
	w := m.connection.writer
	if m.group == nil {
		return nil
	}
	if err := w.check(m.group, nil); err != nil {
		return err
	}
	for _, text := range statements {
		if err := w.control(text); err != nil {
			w.lose(err)
			return m.group.broken
		}
	}
	return nil
}

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

// Exec implements driver.Stmt.
func (s *deferredStatement) Exec(args []driver.Value) (driver.Result, error) {
	return s.ExecContext(context.Background(), named(args))
}

// Query implements driver.Stmt.
func (s *deferredStatement) Query(args []driver.Value) (driver.Rows, error) {
	return s.QueryContext(context.Background(), named(args))
}

// NumInput implements driver.Stmt: the number of parameters is not known.
func (s *deferredStatement) NumInput() int { return -1 }

// Close implements driver.Stmt.
func (s *deferredStatement) Close() error { return nil }

// named returns arguments as the context-aware functions of a driver take them.
func named(values []driver.Value) []driver.NamedValue {
	args := make([]driver.NamedValue, len(values))
	for i, value := range values {
		args[i] = driver.NamedValue{Ordinal: i + 1, Value: value}
	}
	return args
}
