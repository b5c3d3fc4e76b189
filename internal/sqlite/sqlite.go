// Package sqlite opens the databases, and lets the concurrent writers of data.db share their commits.
//
// SQLite has one writer at a time, and with full durability each commit waits for the disk. PocketBase therefore
// writes through a pool of one connection, where every writer pays for its own commit. Here that pool hands out many
// virtual connections onto one physical connection. Each transaction is a member of an outer transaction; whoever
// finishes while nobody waits for a turn commits the outer one for all that joined it. So
//
//   - a write is answered once it is committed, and not before;
//   - a lone writer waits for nobody;
//   - a rollback takes back its own work only;
//   - if the outer transaction fails, everybody in it is told so.
//
// What PocketBase sees is unchanged: one transaction runs at a time, and hooks run before and after it as ever. What
// differs is that a transaction also waits for those that began before it was committed: inside of one, never wait
// for another writer to be answered.
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
	Normal Durability = "normal" // the last commits; the database stays sound
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

// Connect returns how PocketBase opens its databases. A pool of data.db that is limited to one connection before its
// first use, as PocketBase does with its writing one, commits in groups; see Bind for letting more writers into it.
func Connect(durability Durability) core.DBConnectFunc {
	return func(path string) (*dbx.DB, error) {
		if filepath.Base(path) != dataFile {
			return core.DefaultDBConnect(path)
		}
		return open(path, durability, readerStatements, writerStatements)
	}
}

// open returns a pool whose connections keep so many compiled statements each, 0 for none.
func open(path string, durability Durability, readerStatements, writerStatements int) (*dbx.DB, error) {
	// database/sql only tells the driver of a pool. This one connects to nothing: pools open connections when used.
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

// dataSource returns the name by which the driver opens the file. The pragmas are PocketBase's but for synchronous, the
// caches, how often the log is moved into the file, and the patience of the writer, which waits for other processes
// itself. busy_timeout comes first, because setting the journal mode may already meet a lock.
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
