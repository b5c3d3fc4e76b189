package replica

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/superfly/ltx"

	"contactbase/internal/backup"
	"contactbase/internal/replica/shipping"
)

const (
	restoreTestName    = "drill.json"
	restoreTestTimeout = time.Minute // for uploading what is compared
)

// errRestoreTestRunning means that a restore test is already running.
var errRestoreTestRunning = errors.New("a restore test is already running")

// RestoreTest is the result of a restore test: a restore to a temporary directory, compared with what is served.
type RestoreTest struct {
	At      time.Time `json:"at"`
	Seconds float64   `json:"seconds"`
	Rows    int64     `json:"rows"`  // number of rows that were compared
	Error   string    `json:"error"` // "" if the test succeeded
}

func readRestoreTest(path string) *RestoreTest {
	content, err := os.ReadFile(path)
	var found RestoreTest
	if err != nil || json.Unmarshal(content, &found) != nil {
		return nil // there was none
	}
	return &found
}

// TestRestore restores the replica to a temporary directory, checks it, and compares the number of rows with the
// databases that are served. The result stays in the status. The error says why there was no test.
func (r *Replica) TestRestore(ctx context.Context) (RestoreTest, error) {
	if !r.restoreTesting.TryLock() {
		return RestoreTest{}, errRestoreTestRunning
	}
	defer r.restoreTesting.Unlock()
	test := RestoreTest{At: time.Now().UTC().Truncate(time.Millisecond)}
	rows, err := r.testRestore(ctx)
	if ctx.Err() != nil {
		return RestoreTest{}, ctx.Err()
	}
	test.Rows, test.Seconds = rows, time.Since(test.At).Seconds()
	if err != nil {
		test.Error = err.Error()
		r.replication.app.Logger().Error("the restore test of the replica failed", "error", err)
	}
	r.progress.mu.Lock()
	r.progress.restoreTest = &test
	r.progress.mu.Unlock()
	return test, r.save(restoreTestName, test)
}

// testRestore returns how many rows it has compared.
func (r *Replica) testRestore(ctx context.Context) (rows int64, err error) {
	served, at, err := r.countServed(ctx)
	if err != nil {
		return 0, err
	}
	if err := r.flushWithin(ctx, restoreTestTimeout); err != nil {
		return 0, err
	}
	if err := r.checkDisplaced(ctx); err != nil {
		return 0, err
	}
	folder, err := os.MkdirTemp(r.path(""), "restore-test-")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	generation := r.written.generation.Load()
	restored, err := r.restoreData(ctx, generation, folder, at)
	if err != nil {
		return 0, err
	}
	if different := difference(served, restored); different != "" {
		return 0, errors.New(different)
	}
	auxiliary := filepath.Join(folder, auxiliaryFile)
	if err := shipping.NewFiles(r.store, generation, auxiliaryFile).Restore(ctx, auxiliary, 0, 0); err != nil {
		return 0, err
	}
	return total(restored), checkIntegrity(ctx, auxiliary, "integrity_check")
}

// flushWithin waits until the store has everything in all databases.
func (r *Replica) flushWithin(ctx context.Context, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if _, err := r.replication.data(ctx); err != nil {
		return err
	}
	return r.replication.flush(ctx)
}

// countServed returns the number of rows in each table, and the transaction at which it counted them. Writers wait
// some milliseconds, until the WAL is read, but not for the counting.
func (r *Replica) countServed(ctx context.Context) (rows map[string]int64, at ltx.TXID, err error) {
	select {
	case <-r.replication.ready:
	default:
		return nil, 0, ErrUnreplicated
	}
	data := r.replication.uploaders[0]
	db, err := backup.OpenReadOnly(data.DB.Path())
	if err != nil {
		return nil, 0, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	tx, err := db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = tx.Rollback() }() // it has only read
	err = data.SyncExclusively(ctx, func(ctx context.Context) error {
		if err := data.DB.Sync(ctx); err != nil {
			return err
		}
		position, err := data.DB.Pos()
		if err != nil {
			return err
		}
		at = position.TXID
		var begin int
		return tx.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema").Scan(&begin)
	})
	if err != nil {
		return nil, 0, fmt.Errorf("reading the WAL: %w", err)
	}
	rows, err = countRows(tx)
	return rows, at, err
}
