package sqlite

import (
	"fmt"

	"github.com/pocketbase/dbx"
)

// Direct returns what runs statements as they are written, with ? for a parameter. dbx itself first searches each for
// names in braces and brackets, which takes longer than SQLite needs for most of them.
func Direct(db dbx.Builder) dbx.Executor {
	switch db := db.(type) {
	case *dbx.DB:
		return db.DB()
	case *dbx.Tx:
		if builder, ok := db.Builder.(interface{ Executor() dbx.Executor }); ok {
			return builder.Executor()
		}
	}
	panic(fmt.Sprintf("sqlite: a %T has no executor", db)) // unreachable with the dbx of go.mod
}

// expectCommit is what ExpectCommit tells a connection: nothing to SQLite.
const expectCommit = "-- expect commit"

// ExpectCommit tells that from here on nothing but a failure of the database rolls the transaction back once it has
// written something. It then does without a savepoint, which spares a quarter of the time of a small write. Should it be
// rolled back after all, the others in its group are so too, and get ErrGroup.
func ExpectCommit(tx dbx.Executor) error {
	_, err := tx.Exec(expectCommit)
	return err
}
