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

const (
	// recordInto is the name of the environment variable with the folder into which tests write the statements that the
	// program runs, for the ledger of plans.
	recordInto = "CONTACTBASE_PLANS"

	// checkPlans is the name of the environment variable that makes a test fail if the program runs a statement that
	// walks a table with many rows and is not in the ledger.
	checkPlans = "CONTACTBASE_TEST_PLANS"
)

// recorded has the statements that this process has written or checked, as the ledger has them.
var recorded sync.Map

// connect is sqlite.Connect, and keeps the ledger of plans.
func connect(tb testing.TB) core.DBConnectFunc {
	if os.Getenv(recordInto) == "" && os.Getenv(checkPlans) == "" {
		return sqlite.Connect(sqlite.Normal)
	}
	l := &ledger{}
	tb.Cleanup(func() { // once the app is closed
		for _, failure := range l.failures {
			tb.Error(failure)
		}
	})
	return sqlite.ConnectThrough(sqlite.Normal, func(raw physical.Raw) driver.Conn { return ledgerConnection{raw, l} })
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
	text := plans.Normalize(query)
	if _, known := recorded.Load(text); !known && !ofTest() {
		recorded.Store(text, true)
		if err := c.see(ctx, query, text); err != nil {
			c.mu.Lock()
			c.failures = append(c.failures, err)
			c.mu.Unlock()
		}
	}
	return c.Raw.PrepareContext(ctx, query)
}

// see records a statement, or checks that it is in the ledger if it walks a table.
func (c ledgerConnection) see(ctx context.Context, query, text string) error {
	steps, failed := c.explain(ctx, query)
	folder := os.Getenv(recordInto)
	if folder != "" && failed == nil { // otherwise the statement has the same error
		return write(folder, plans.Entry{Statement: text, Plan: steps, Example: query})
	}
	if walks := plans.Walks(query, steps); len(walks) > 0 && !plans.Known(text) {
		return fmt.Errorf("a statement is not in the ledger of plans and walks a table: find its rows through an index, or run task plans:\n%s\n%s",
			text, strings.Join(walks, "\n"))
	}
	return nil
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
	file, err := os.OpenFile(filepath.Join(folder, fmt.Sprintf("%d.json", os.Getpid())), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
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
		case strings.HasPrefix(in, "internal/sqlite.") || strings.HasPrefix(in, "internal/sqlite/") || strings.Contains(in, "ledgerConnection"):
		case in != frame.Function:
			return strings.Contains(in, "/testkit.") || strings.Contains(in, "/storetest.")
		}
		if !more {
			return false
		}
	}
}
