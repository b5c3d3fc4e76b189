package sqlite

import (
	"database/sql"
	"database/sql/driver"
	"errors"
	"strings"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// IsUnavailable tells whether the storage, rather than the statement, is why err came about: the disk is full, fails
// or may not be written, the file is damaged, another process has the lock, or the database is closed. Nothing was
// written then, and the same may succeed later. A value too large for SQLite is not among them.
func IsUnavailable(err error) bool {
	if err == nil {
		return false
	}
	if errors.Is(err, ErrGroup) || errors.Is(err, ErrBusy) || errors.Is(err, errClosed) || errors.Is(err, driver.ErrBadConn) || errors.Is(err, sql.ErrConnDone) {
		return true
	}
	var refused *sqlite.Error
	if !errors.As(err, &refused) {
		return strings.Contains(err.Error(), "sql: database is closed") // database/sql has no other name for it
	}
	switch refused.Code() & 0xff { // what is above tells the primary codes apart
	case sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_NOMEM,
		sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL, sqlite3.SQLITE_INTERRUPT,
		sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return true
	default:
		return false
	}
}

// IsRefused tells whether a trigger raised that message.
func IsRefused(err error, message string) bool {
	var refused *sqlite.Error
	return errors.As(err, &refused) && refused.Code() == sqlite3.SQLITE_CONSTRAINT_TRIGGER && strings.Contains(refused.Error(), message)
}

// IsMissing tells whether a statement failed because there is no such table.
func IsMissing(err error, table string) bool {
	var refused *sqlite.Error
	return errors.As(err, &refused) && refused.Code() == sqlite3.SQLITE_ERROR && strings.Contains(refused.Error(), "no such table: "+table)
}
