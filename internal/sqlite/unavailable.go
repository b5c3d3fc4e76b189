package sqlite

import (
	"database/sql"
	"database/sql/driver"
	"errors"
	"strings"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// IsUnavailable reports whether err comes from the storage and not from the statement: the disk is full, fails or is
// read-only, the file is damaged, another process has the lock, or the database is closed. Then nothing was written,
// and a retry may succeed.
func IsUnavailable(err error) bool {
	if err == nil || errors.Is(err, ErrUncertain) {
		return false
	}
	if errors.Is(err, ErrBatch) || errors.Is(err, ErrBusy) || errors.Is(err, errClosed) ||
		errors.Is(err, driver.ErrBadConn) || errors.Is(err, sql.ErrConnDone) {
		return true
	}
	var refused *sqlite.Error
	if !errors.As(err, &refused) {
		return strings.Contains(err.Error(), "sql: database is closed") // database/sql has no typed error for it
	}
	switch refused.Code() & 0xff { // the primary result code
	case sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY,
		sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_NOMEM,
		sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL, sqlite3.SQLITE_INTERRUPT,
		sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return true
	default:
		return false
	}
}

// IsRefused reports whether a trigger raised an error with that message.
func IsRefused(err error, message string) bool {
	var refused *sqlite.Error
	return errors.As(err, &refused) && refused.Code() == sqlite3.SQLITE_CONSTRAINT_TRIGGER &&
		strings.Contains(refused.Error(), message)
}
