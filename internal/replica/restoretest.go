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

	"github.com/benbjohnson/litestream"
	"github.com/superfly/ltx"
)

const (
	restoreTestName    = "drill.json"
	restoreTestTimeout = time.Minute // for the store to have what is compared
)

// errRestoreTestRunning means that a restore test is already running.
var errRestoreTestRunning = errors.New("a restore test is already running")

// RestoreTest is what a restore test came to: a restore into a temporary folder, compared with what is served.
type RestoreTest struct {
	At      time.Time `json:"at"`
	Seconds float64   `json:"seconds"`
	Rows    int64     `json:"rows"`  // that were compared
	Error   string    `json:"error"` // "" where the replica is what it has to be
}

func readRestoreTest(path string) *RestoreTest {
	content, err := os.ReadFile(path)
	var found RestoreTest
	if err != nil || json.Unmarshal(content, &found) != nil {
		return nil // there was none
	}
	return &found
}

// TestRestore restores what the store has of the databases that are served into a temporary folder, checks it, and compares how many
// rows there are. What it found stays in the status. The error tells that there was no restore test.
func (r *Replica) TestRestore(ctx context.Context) (RestoreTest, error) {
	if !r.restoreTesting.TryLock() {
		return RestoreTest{}, errRestoreTestRunning
	}
	defer r.restoreTesting.Unlock()
	note := RestoreTest{At: time.Now().UTC().Truncate(time.Millisecond)}
	rows, err := r.testRestore(ctx)
	if ctx.Err() != nil {
		return RestoreTest{}, ctx.Err()
	}
	note.Rows, note.Seconds = rows, time.Since(note.At).Seconds()
	if err != nil {
		note.Error = err.Error()
		r.runner.app.Logger().Error("the restore test of the replica failed", "error", err)
	}
	r.mu.Lock()
	r.restoreTest = &note
	r.mu.Unlock()
	return note, r.save(restoreTestName, note)
}

// testRestore returns how many rows it has compared.
func (r *Replica) testRestore(ctx context.Context) (rows int64, err error) {
	here, at, err := r.mark(ctx)
	if err != nil {
		return 0, err
	}
	if err := r.reach(ctx, restoreTestTimeout, r.flushAll); err != nil {
		return 0, err
	}
	if err := r.checkOwner(ctx); err != nil {
		return 0, err
	}
	folder, err := os.MkdirTemp(r.path(""), "restore-test-")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	options := litestream.NewRestoreOptions()
	options.OutputPath, options.TXID = filepath.Join(folder, dataFile), at
	if err := restore(ctx, r.client(r.generation, dataFile), options); err != nil {
		return 0, err
	}
	there, err := examine(ctx, options.OutputPath)
	if err != nil {
		return 0, err
	}
	if different := difference(here, there); different != "" {
		return 0, errors.New(different)
	}
	for _, count := range there {
		rows += count
	}
	options.OutputPath, options.TXID = filepath.Join(folder, auxiliaryFile), 0
	if err := restore(ctx, r.client(r.generation, auxiliaryFile), options); err != nil {
		return 0, err
	}
	return rows, checkIntegrity(ctx, options.OutputPath, "integrity_check")
}

// flushAll waits for all databases, whichever was asked for.
func (r *Replica) flushAll(_ *uploader, ctx context.Context) error {
	for _, s := range r.runner.uploaders {
		if err := s.flush(ctx); err != nil {
			return err
		}
	}
	return nil
}

// examine checks a restored database and counts its rows.
func examine(ctx context.Context, database string) (map[string]int64, error) {
	if err := checkIntegrity(ctx, database, "integrity_check"); err != nil {
		return nil, err
	}
	return countRestored(ctx, database)
}

// mark returns how many rows there are, and the transaction after which there are. Writers wait until the log is read, which
// takes some milliseconds, and not while the rows are counted.
func (r *Replica) mark(ctx context.Context) (rows map[string]int64, at ltx.TXID, err error) {
	select {
	case <-r.runner.ready:
	default:
		return nil, 0, ErrUnreplicated
	}
	data := r.runner.uploaders[0]
	db, err := openRead(data.db.Path())
	if err != nil {
		return nil, 0, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	tx, err := db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = tx.Rollback() }() // it has only read
	err = data.syncExclusively(ctx, func(ctx context.Context) error {
		if err := data.db.Sync(ctx); err != nil {
			return err
		}
		position, err := data.db.Pos()
		if err != nil {
			return err
		}
		at = position.TXID
		var begin int
		return tx.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema").Scan(&begin)
	})
	if err != nil {
		return nil, 0, fmt.Errorf("reading the log: %w", err)
	}
	rows, err = countRows(ctx, tx)
	return rows, at, err
}
