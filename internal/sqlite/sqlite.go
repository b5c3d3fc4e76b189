// Package sqlite opens the databases, and lets the concurrent writers of data.db share their commits.
//
// SQLite has one writer at a time, and with full durability each commit waits for the disk. PocketBase therefore writes through a pool of
// one connection, where every writer pays for its own commit. Here that pool hands out many virtual connections, which share one physical
// connection and one writer lock. Each transaction is a part of a commit batch, which is one transaction of SQLite. The writer that
// finishes while no other waits for the lock commits the batch for all transactions in it. So
//
//   - a write is answered after its commit, and not before;
//   - a lone writer waits for nobody;
//   - a rollback undoes only its own work;
//   - if the batch fails, every transaction in it returns an error.
//
// PocketBase sees no difference: one transaction runs at a time, and hooks run before and after it. But the commit of a transaction also
// waits for those that join its batch: inside a transaction, never wait for the answer of another writer.
//
// There are two ways to write. Write calls a write function, which reads, checks and returns statements: short, and without a savepoint.
// Transact and PocketBase's RunInTransaction run a transaction statement by statement. Long work goes through InChunks.
package sqlite

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"
)

// Durability is what a power cut may cost.
type Durability string

// The durabilities of the data.
const (
	Full   Durability = "full"   // nothing that was answered: each commit waits for the disk
	Normal Durability = "normal" // the last commits; the database stays intact
)

// dataFile is the database whose writers share commits. The other one, auxiliary.db, holds request logs, which
// PocketBase already writes in batches.
const dataFile = "data.db"

// driverName is the name under which database/sql and dbx know SQLite.
const driverName = "sqlite"

// How many compiled statements a connection keeps. There are many readers and one writer.
const (
	readerStatements = 64
	writerStatements = 256
)

// How many KiB of pages a connection keeps. The system keeps the file as well, so that the many readers need little.
const (
	readerCache = 1_000
	writerCache = 8_000
	keeperCache = 10 // it reads no more than the schema
)

// ParseDurability reads the value of a flag.
func ParseDurability(s string) (Durability, error) {
	switch d := Durability(s); d {
	case Full, Normal:
		return d, nil
	default:
		return "", fmt.Errorf("%q is neither full nor normal", s)
	}
}

// Connect returns the function with which PocketBase opens its databases. A pool of data.db that is limited to one connection before its
// first use, as PocketBase limits its writing pool, commits in batches; Bind lets more writers into it.
func Connect(durability Durability) core.DBConnectFunc {
	return func(path string) (*dbx.DB, error) {
		if filepath.Base(path) != dataFile {
			return core.DefaultDBConnect(path)
		}
		return open(path, durability, readerStatements, writerStatements)
	}
}

// open returns a pool whose connections each keep that many compiled statements.
func open(path string, durability Durability, readerStatements, writerStatements int) (*dbx.DB, error) {
	// database/sql gives access to a driver only through a pool. This one opens no connection.
	registered, err := sql.Open(driverName, "")
	if err != nil {
		return nil, err
	}
	if err := registered.Close(); err != nil {
		return nil, err
	}
	c := &connector{
		driver:           registered.Driver(),
		path:             path,
		durability:       durability,
		readerStatements: readerStatements,
		writerStatements: writerStatements,
	}
	c.pool = sql.OpenDB(c)
	return dbx.NewFromDB(c.pool, driverName), nil
}

// dataSource returns the name by which the driver opens the file. The pragmas are PocketBase's, except for synchronous, the caches and
// the size at which the WAL is checkpointed; the writer also sets busy_timeout to 0, because it waits for other processes itself.
// busy_timeout comes first, because setting the journal mode may meet a lock.
func dataSource(path string, durability Durability, cache int) string {
	return path + "?" + strings.Join([]string{
		"_pragma=busy_timeout(10000)",
		"_pragma=journal_mode(WAL)",
		"_pragma=journal_size_limit(200000000)",
		"_pragma=synchronous(" + string(durability) + ")",
		"_pragma=foreign_keys(ON)",
		"_pragma=temp_store(MEMORY)",
		fmt.Sprintf("_pragma=wal_autocheckpoint(%d)", emergencyPages),
		fmt.Sprintf("_pragma=cache_size(-%d)", cache),
	}, "&")
}
