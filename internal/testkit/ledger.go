package testkit

import (
	"context"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/sqlite"
	"contactbase/internal/sqlite/physical"
	"contactbase/internal/testkit/plans"
)

// recordInto is the name of the environment variable with the folder into which tests write the statements that the
// program runs, for the ledger of plans.
const recordInto = "CONTACTBASE_PLANS"

// recorded has the statements that this process has written or checked, as the program runs them.
var recorded sync.Map

// connect is sqlite.Connect, and keeps the ledger of plans: a test fails if the program runs a statement that walks a
// table with many rows and has no reason.
func connect(tb testing.TB) core.DBConnectFunc {
	l := &ledger{}
	tb.Cleanup(func() { // once the app is closed
		for _, failure := range l.failures {
			tb.Error(failure)
		}
	})
	return sqlite.ConnectWrapped(sqlite.Normal, func(raw physical.Raw) driver.Conn { return ledgerConnection{raw, l} })
}

// ledger has what one app does against the ledger of plans.
type ledger struct {
	mu       sync.Mutex
	failures []error
}

// ledgerConnection sees each statement that the program compiles.
type ledgerConnection struct {
	physical.Raw
	*ledger
}

// PrepareContext implements driver.ConnPrepareContext.
func (c ledgerConnection) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	if _, known := recorded.Load(query); !known && !ofTest() {
		recorded.Store(query, true)
		if err := c.see(ctx, query); err != nil {
			c.mu.Lock()
			c.failures = append(c.failures, err)
			c.mu.Unlock()
		}
	}
	return c.Raw.PrepareContext(ctx, query)
}

// see records a statement, or checks that it has a reason if it walks a table.
func (c ledgerConnection) see(ctx context.Context, query string) error {
	text := plans.Normalize(query)
	steps, failed := c.explain(ctx, query)
	folder := os.Getenv(recordInto)
	if folder != "" && failed == nil { // otherwise the statement has the same error
		return write(folder, plans.Entry{Statement: text, Plan: steps, Example: query})
	}
	walks := plans.Walks(query, steps)
	if _, found := plans.ReasonFor(text); found || len(walks) == 0 {
		return nil
	}
	return fmt.Errorf("find the rows through an index, "+
		"or add the bound and its test to testkit/plans/walks.txt:\n%s\n\t%s",
		text, strings.Join(walks, "\n\t"))
}

func (c ledgerConnection) explain(ctx context.Context, query string) (steps []string, err error) {
	rows, err := c.QueryContext(ctx, "EXPLAIN QUERY PLAN "+query, plans.NoValues(query))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	values := make([]driver.Value, len(rows.Columns()))
	for {
		if err := rows.Next(values); errors.Is(err, io.EOF) {
			return steps, nil
		} else if err != nil {
			return nil, err
		}
		steps = append(steps, fmt.Sprint(values[len(values)-1]))
	}
}

var writing sync.Mutex

// write appends an entry to the file of this process.
func write(folder string, entry plans.Entry) (err error) {
	writing.Lock()
	defer writing.Unlock()
	file, err := os.OpenFile(filepath.Join(folder, fmt.Sprintf("%d.json", os.Getpid())),
		os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return json.NewEncoder(file).Encode(entry)
}

// ofTest reports whether a test, and not the program, runs the current statement: whether the innermost function of
// ours belongs to a test.
func ofTest() bool {
	var callers [128]uintptr
	frames := runtime.CallersFrames(callers[:runtime.Callers(2, callers[:])])
	for {
		frame, more := frames.Next()
		in := strings.TrimPrefix(frame.Function, "contactbase/")
		switch {
		case strings.HasSuffix(frame.File, "_test.go") || strings.Contains(in, "_test."):
			return true
		case strings.HasPrefix(in, "internal/sqlite.") ||
			strings.HasPrefix(in, "internal/sqlite/") || strings.Contains(in, "ledgerConnection"):
		case in != frame.Function:
			return strings.Contains(in, "/testkit.") || strings.Contains(in, "/storetest.")
		}
		if !more {
			return false
		}
	}
}
