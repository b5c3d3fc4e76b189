// Package sqlite opens the databases, and makes concurrent writers of data.db share their commits.
//
// SQLite has one writer at a time, and with full durability each commit waits for the disk. PocketBase therefore
// writes through a pool of one connection, where every writer pays for its own commit. Here that pool hands out many
// virtual connections, which share one physical connection and one writer lock. Each transaction is a part of a
// commit batch, which is one transaction of SQLite. The writer that finishes while no other waits for the lock
// commits the batch for all transactions in it. So
//
//   - a write returns after its commit, and not before;
//   - a single writer waits for no other;
//   - a rollback undoes only its own work;
//   - if the batch fails, every transaction in it returns an error.
//
// Each owner, which is a tenant, has a queue of waiting writers, and owners take turns.
//
// PocketBase sees no difference: one transaction runs at a time, and its hooks run before and after it. But
// the commit of a transaction also waits for those that join its batch, so a transaction must never wait
// for another writer.
//
// There are two ways to write. WriteFor calls a write function, which reads, checks and returns statements: short,
// and without a savepoint. Transact and PocketBase's RunInTransaction run a transaction statement by statement. Long
// work goes through InChunks.
package sqlite

import (
	"database/sql"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"
)

// Durability determines what a power cut may lose.
type Durability string

// The durabilities of the data.
const (
	// nothing that was acknowledged: each commit waits for the disk, unless it has only derived writes
	Full   Durability = "full"
	Strict Durability = "strict" // nothing at all: each commit waits for the disk
	Normal Durability = "normal" // the last commits; the database stays intact
)

// dataFile is the database whose writers share commits. PocketBase already writes the other one,
// auxiliary.db, in batches.
const dataFile = "data.db"

// driverName is the name under which database/sql and dbx know SQLite.
const driverName = "sqlite"

// The number of compiled statements that a connection keeps. There are many readers and one writer.
const (
	readerStatements = 64
	writerStatements = 256
)

// The page cache of a connection, in KiB. The operating system caches the file, too, so the many readers need little.
const (
	readerCache = 1_000
	writerCache = 8_000
	keeperCache = 10 // it reads only the schema
)

// ParseDurability parses the value of a flag.
func ParseDurability(s string) (Durability, error) {
	switch d := Durability(s); d {
	case Full, Normal:
		return d, nil
	default:
		return "", fmt.Errorf("%q is neither full nor normal", s)
	}
}

// synchronous returns the value of the pragma.
func (d Durability) synchronous() string {
	if d == Normal {
		return "normal"
	}
	return "full"
}

// Connect returns the function with which PocketBase opens its databases. A pool of data.db that is limited
// to one connection before its first use, as PocketBase limits its writing pool, commits in batches. Bind
// removes that limit.
func Connect(durability Durability) core.DBConnectFunc {
	return func(path string) (*dbx.DB, error) {
		if filepath.Base(path) != dataFile {
			return core.DefaultDBConnect(Name(path))
		}
		return open(path, durability, readerStatements, writerStatements)
	}
}

// open returns a pool whose connections each keep that many compiled statements.
func open(path string, durability Durability, readerStatements, writerStatements int) (*dbx.DB, error) {
	// database/sql gives access to a driver only through a pool, which opens no connection here
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

// Name returns the name under which the driver opens the file. A question mark would end the path, except in a URI.
func Name(path string) string {
	if !strings.Contains(path, "?") {
		return path
	}
	return (&url.URL{Scheme: "file", OmitHost: true, Path: path}).String()
}

// dataSource returns the data source name of the file for the driver. The pragmas are PocketBase's, except for
// synchronous, cache_size and wal_autocheckpoint. The writer later sets busy_timeout to 0, because it waits for other
// processes itself. busy_timeout comes first, because setting the journal mode may have to wait for a lock.
func dataSource(path string, durability Durability, cache int) string {
	return Name(path) + "?" + strings.Join([]string{
		"_pragma=busy_timeout(10000)",
		"_pragma=journal_mode(WAL)",
		"_pragma=journal_size_limit(200000000)",
		"_pragma=synchronous(" + durability.synchronous() + ")",
		"_pragma=foreign_keys(ON)",
		"_pragma=temp_store(MEMORY)",
		fmt.Sprintf("_pragma=wal_autocheckpoint(%d)", emergencyPages),
		fmt.Sprintf("_pragma=cache_size(-%d)", cache),
	}, "&")
}
