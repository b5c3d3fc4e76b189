package imports

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact/custom"
	"contactbase/internal/loop"
	"contactbase/internal/sqlite"
)

const (
	// poll is how often an importer looks for imports that another process has begun, or has left unfinished.
	poll = 10 * time.Second

	// idle is the time without progress after which an import counts as abandoned.
	idle = 2 * time.Second

	// atOnce is how many tenants have their turns at a time.
	atOnce = 2

	// maxChecks is how many tenants have a check under way, because each takes memory: see contact.DryRun. Those of other
	// tenants wait until one ends; imports do not.
	maxChecks = 4

	// maxTurn is how long a turn takes, apart from a row or a chunk of rows that has begun.
	maxTurn = time.Second
)

// NewImporter returns the loop that checks and applies imports in the background, by turns. Wake it when
// an import begins.
func NewImporter(app core.App) *loop.Loop {
	return loop.New(poll, func(ctx context.Context) {
		if err := Work(ctx, app); err != nil && ctx.Err() == nil {
			app.Logger().Error("importing contacts failed; retrying", "error", err)
		}
	})
}

// Work checks and applies imports until there is nothing left to do, or ctx ends. Tenants take turns, two at a time,
// and so do the imports of a tenant. It skips an import that another process works on. One that fails does not delay
// the others.
func Work(ctx context.Context, app core.App) error { return work(ctx, app, maxTurn) }

func work(ctx context.Context, app core.App, maxTurn time.Duration) error {
	w := &worker{
		app: app, maxTurn: maxTurn, lines: map[string]*line{}, failures: map[string]failure{}, over: make(chan turn),
	}
	for {
		err := w.begin(ctx)
		if w.running == 0 {
			for _, f := range w.failures {
				err = errors.Join(err, f.err)
			}
			return err
		}
		w.end(<-w.over)
	}
}

// worker gives turns to tenants. Its fields belong to the goroutine of Work.
type worker struct {
	app      core.App
	maxTurn  time.Duration
	lines    map[string]*line // by the id of the tenant
	turns    int              // that have begun
	running  int
	over     chan turn
	failures map[string]failure // by the id of the import, of its last turn
}

// line has the imports of a tenant.
type line struct {
	turn    int    // the number of the last turn, 0 for none
	last    string // the id of the import that had it
	running bool

	// These belong to the goroutine of the turn while it runs.
	chunks *sqlite.Chunks
	check  *dryRun // that is not finished, nil for none: a tenant has one at most
}

func newLine() *line { return &line{chunks: sqlite.Throttled()} }

// turn is a turn that is over.
type turn struct {
	line   *line
	id     string // of the import
	failed error
}

// failure is why an import waits for another attempt.
type failure struct {
	err   error // nil if another process works on it
	until time.Time
}

// begin begins turns, until as many run as may, or no other tenant waits.
func (w *worker) begin(ctx context.Context) error {
	for w.running < atOnce {
		if err := ctx.Err(); err != nil {
			return err
		}
		waiting, err := w.waiting()
		if err != nil {
			return err
		}
		l, id := w.next(waiting)
		if l == nil {
			return nil
		}
		go func() { w.over <- turn{l, id, l.work(ctx, w.app, id, w.maxTurn)} }()
	}
	return nil
}

// end notes the end of a turn.
func (w *worker) end(t turn) {
	w.running--
	t.line.running = false
	delete(w.failures, t.id)
	if errors.Is(t.failed, errMoved) {
		t.failed = nil
	} else if t.failed == nil {
		return
	}
	w.failures[t.id] = failure{t.failed, time.Now().Add(idle)}
}

// The conditions on an import that is to be checked, applied or undone, and on one whose tenant has API access.
const (
	unfinished = "`status` IN ('checking', 'running', 'undoing') " +
		"AND EXISTS (SELECT 1 FROM `tenants` t WHERE t.`id` = `tenant`)"
	isEnabled = "EXISTS (SELECT 1 FROM `tenants` t WHERE t.`id` = `tenant` AND t.`apiEnabled` = 1)"
)

// waiting returns the imports whose turn may be next, by their tenants, in the order of their ids. It drops checks that
// do not go on.
func (w *worker) waiting() (map[string][]string, error) {
	found, checks := map[string][]string{}, map[string]bool{}
	now := time.Now()
	const waitingSQL = "SELECT `id`, `tenant`, `status` FROM `_imports` WHERE " + unfinished + " AND " + isEnabled +
		" ORDER BY `id`"
	err := sqlite.Each(sqlite.Direct(w.app.ConcurrentDB()), waitingSQL, func(rows *sql.Rows) error {
		id, tenant, status := "", "", New
		err := rows.Scan(&id, &tenant, &status)
		checks[id] = status == Checking
		if !now.Before(w.failures[id].until) {
			found[tenant] = append(found[tenant], id)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	underWay := 0
	for _, l := range w.lines {
		if !l.running && l.check != nil && !checks[l.check.ID] {
			l.check = nil
		}
		if l.running || l.check != nil {
			underWay++
		}
	}
	for tenant, ids := range found {
		l := w.lines[tenant]
		if l == nil {
			l = &line{}
		}
		if l.running || l.check == nil && underWay < maxChecks {
			continue
		}
		found[tenant] = slices.DeleteFunc(ids, func(id string) bool {
			return checks[id] && (l.check == nil || id != l.check.ID)
		})
	}
	return found, nil
}

// next gives a turn to the tenant without a running one whose last turn is the longest ago, and there to the import
// behind the last one. It returns nil if none waits.
func (w *worker) next(waiting map[string][]string) (next *line, id string) {
	first := ""
	for tenant, ids := range waiting {
		l := w.lines[tenant]
		if l == nil {
			l = newLine()
			w.lines[tenant] = l
		}
		if l.running || len(ids) == 0 {
			continue
		}
		if next != nil && cmp.Or(cmp.Compare(l.turn, next.turn), cmp.Compare(ids[0], first)) > 0 {
			continue
		}
		behind, isThere := slices.BinarySearch(ids, l.last)
		if isThere {
			behind++
		}
		next, first, id = l, ids[0], ids[behind%len(ids)]
	}
	if next != nil {
		w.turns++
		w.running++
		next.turn, next.last, next.running = w.turns, id, true
	}
	return next, id
}

// WorkOn checks or applies one import until that is done, or ctx ends. While another process works on it, or its tenant
// has no API access, WorkOn waits.
func WorkOn(ctx context.Context, app core.App, id string) error {
	l := newLine()
	for {
		left, err := query(app, "`id` = ? AND "+unfinished, id)
		if err = errors.Join(err, ctx.Err()); err != nil || len(left) == 0 {
			return err
		}
		err = l.work(ctx, app, id, maxTurn)
		if errors.Is(err, errMoved) {
			err = left[0].await(ctx, app)
		}
		if err != nil {
			return err
		}
	}
}

// await waits until nobody advances the import any more.
func (i *Import) await(ctx context.Context, app core.App) error {
	for position := -1; ; {
		current, err := Find(app, i.ID)
		if err != nil || current.Status != i.Status || current.Position == position {
			return err
		}
		position = current.Position
		if !loop.Pause(ctx, idle) {
			return ctx.Err()
		}
	}
}

// work checks or applies the next page of an import, or the part of it that fits into the turn. The error is errMoved
// if another process works on the import, or it is not to be worked on any more.
func (l *line) work(ctx context.Context, app core.App, id string, maxTurn time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, maxTurn)
	defer cancel()
	return custom.RetryOutdated(app, func(app core.App) error {
		found, err := query(app, "`id` = ? AND "+unfinished+" AND "+isEnabled, id)
		switch {
		case err != nil:
			return err
		case len(found) == 0:
			return errMoved
		case found[0].Status == Checking:
			return l.checkOn(ctx, app, found[0])
		case found[0].Status == Undoing:
			return found[0].undo(ctx, app, l.chunks)
		}
		if found[0].Position == 0 {
			if done, err := found[0].forget(ctx, app, l.chunks); !done {
				return err
			}
		}
		return found[0].apply(ctx, app, l.chunks)
	})
}

// checkOn continues the check of an import. One that was interrupted, or whose choices have changed, begins again with
// the first row.
func (l *line) checkOn(ctx context.Context, app core.App, i *Import) error {
	if l.check != nil && !l.check.isOf(i) {
		l.check = nil
	}
	if l.check == nil {
		check, err := i.dryRun(app)
		if err != nil {
			return err
		}
		if done, err := i.forget(ctx, app, l.chunks); !done {
			return err
		}
		l.check = check
	}
	status, err := l.check.next(ctx)
	if err != nil || status == Checked {
		l.check = nil
	}
	if errors.Is(err, errMoved) { // it was started, cancelled or checked again, which the next turn sees
		return nil
	}
	return err
}
