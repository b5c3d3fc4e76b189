package sqlite

import (
	"fmt"

	"github.com/pocketbase/dbx"
)

// Direct returns an executor that passes statements to SQLite unchanged, with ? for each parameter. dbx first searches each for names in
// braces and brackets, which takes longer than SQLite needs for most of them.
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
