package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"
)

// Write runs a plan as one transaction: first it reads, and checks what there is to check; then the statements that it
// returns are run. It returns how many rows each of them changed.
//
// Whatever a plan refuses it refuses before anything is written, and a first statement that fails has undone itself. So
// it needs no savepoint, which spares a quarter of the time of a small write, and cannot take back the work of others
// that share its commit. Should a later statement fail all the same, or the commit, those others run again by
// themselves; so the plan may be called twice, and must change nothing but what it returns.
//
// Because a plan is a function and not a transaction that somebody holds open, whoever has the turn runs those that wait
// behind it as well, in its own goroutine: nobody is woken but to be told the outcome.
//
// In an app that is in a transaction, the plan becomes a part of that one.
func Write(app core.App, do func(Reader) ([]Statement, error)) ([]int64, error) {
	switch db := app.NonconcurrentDB().(type) {
	case *dbx.DB:
		return writePlan(db.DB(), do)
	case *dbx.Tx:
		statements, err := do(ReaderOf(app))
		if err != nil {
			return nil, err
		}
		return Run(app, statements)
	default:
		return nil, errClosed
	}
}

func writePlan(db *sql.DB, do func(Reader) ([]Statement, error)) ([]int64, error) {
	w := poolWriter(db)
	if w == nil {
		return nil, errors.New("a plan was to be written by a pool that does not commit in groups")
	}
	p := w.plan(planned, do)
	if errors.Is(p.err, ErrGroup) {
		p = w.plan(replanned, do)
	}
	if p.panicked != nil {
		panic(p.panicked)
	}
	return p.changed, p.err
}

// mode tells how a transaction writes.
type mode int

const (
	unplanned mode = iota // statement by statement, which may be rolled back at any point
	planned
	replanned // once more, with nobody else, after the group of the first time failed
)

// plan is a plan on its way: waiting, running or, once its outcome is known, over.
type plan struct {
	mode     mode
	do       func(Reader) ([]Statement, error)
	deadline time.Time

	group    *group // that it is a part of; nil where there is nothing of it to commit
	changed  []int64
	err      error
	panicked any // what do panicked with, and where
}

// plan runs a plan and returns it once it is over.
func (w *writer) plan(mode mode, do func(Reader) ([]Statement, error)) *plan {
	p := &plan{mode: mode, do: do, deadline: time.Now().Add(patience)}
	err := w.turns.wait(context.Background(), p.deadline, p, w.leave)
	if err != nil {
		if !errors.Is(err, errServed) {
			p.err = err
		}
		return p
	}
	w.began = time.Now()
	w.run(p)
	if p.group == nil {
		w.leave()
		return p
	}
	p.err = w.join()
	return p
}

// combine runs the plans that wait in front of everybody else, as members of the open group. Who calls it has the turn and
// waits for that group.
func (w *writer) combine() {
	for w.group != nil && !w.group.full() {
		place := w.turns.nextPlan()
		if place == nil {
			return
		}
		w.endTurn()
		p := place.plan
		w.run(p)
		if p.group == nil {
			place.turn <- errServed
			continue
		}
		p.group.writes++
		p.group.served = append(p.group.served, place)
	}
}

// run runs a plan whose turn it is.
func (w *writer) run(p *plan) {
	m := &member{connection: w.planner.virtual, deadline: p.deadline, mode: p.mode}
	w.planner.virtual.member = m
	kept := false
	defer func() {
		if kept {
			return
		}
		if reason := recover(); reason != nil {
			p.panicked = fmt.Sprintf("%v\n\n%s", reason, debug.Stack()) // its own goroutine shows nothing of it
		}
		if err := m.undo(); err != nil && p.err == nil {
			p.err = err
		}
	}()
	reader := &planReader{conn: w.planner.conn}
	if p.mode == planned && w.group != nil {
		reader.given = w.group.handed
	}
	if p.changed, p.err = w.planner.run(reader, p.do); p.err != nil {
		return
	}
	kept = true
	if p.err = m.keep(); p.err == nil {
		p.group = m.group
	}
	if p.err == nil && m.written {
		m.group.handed = reader.handed
	}
}

// planner is what plans read and write by: a single virtual connection, in the hands of who has the turn. A transaction of
// database/sql would start a goroutine for itself and one for each query.
type planner struct {
	virtual *virtual
	pool    *sql.DB
	conn    *sql.Conn
}

// newPlanner returns the planner of a writer. It connects to nothing.
func newPlanner(w *writer) (*planner, error) {
	p := &planner{virtual: &virtual{writer: w}}
	p.pool = sql.OpenDB(p)
	var err error
	p.conn, err = p.pool.Conn(context.Background())
	return p, err
}

// Connect implements driver.Connector.
func (p *planner) Connect(context.Context) (driver.Conn, error) { return p.virtual, nil }

// Driver implements driver.Connector. Nobody asks for it.
func (p *planner) Driver() driver.Driver { return nil }

func (p *planner) close() error { return errors.Join(p.conn.Close(), p.pool.Close()) }

func (p *planner) run(reader *planReader, do func(Reader) ([]Statement, error)) ([]int64, error) {
	statements, err := reader.read(do)
	if err != nil {
		return nil, err
	}
	changed := make([]int64, len(statements))
	for i, s := range statements {
		result, err := p.conn.ExecContext(context.Background(), s.Text, s.Args...)
		if err != nil {
			return nil, err
		}
		if changed[i], err = result.RowsAffected(); err != nil {
			return nil, err
		}
	}
	return changed, nil
}

// planReader keeps a plan from writing while it reads.
type planReader struct {
	conn   *sql.Conn
	opened []*sql.Rows
	given  []any // by the plan before
	handed []any // to the next one
}

// read calls do and closes the rows that it left open.
func (r *planReader) read(do func(Reader) ([]Statement, error)) ([]Statement, error) {
	defer func() {
		for _, rows := range r.opened {
			_ = rows.Close() // what it could tell concerns nobody any more
		}
	}()
	return do(r)
}

// Query implements Reader.
func (r *planReader) Query(query string, args ...any) (*sql.Rows, error) {
	if parse(query).kind != kindRead {
		return nil, fmt.Errorf("a plan only reads before it writes: %s", query)
	}
	rows, err := r.conn.QueryContext(context.Background(), query, args...)
	if err == nil {
		r.opened = append(r.opened, rows)
	}
	return rows, err
}
