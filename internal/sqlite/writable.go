package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"
)

// commitProof is how long a commit proves that data.db is writable.
const commitProof = 2 * time.Second

const touchSQL = "UPDATE _migrations SET applied = applied %s 1 WHERE file = (SELECT min(file) FROM _migrations)"

// Writable returns an error if data.db is not writable. Unless there was a commit in the last two seconds, it changes
// a row and changes it back, because SQLite does not write an update that changes nothing.
func Writable(app core.App) error {
	db, isOpen := app.NonconcurrentDB().(*dbx.DB)
	if !isOpen {
		return errClosed
	}
	return writable(db.DB())
}

func writable(db *sql.DB) error {
	if w := poolWriter(db); w != nil {
		if last := w.lastCommit.Load(); last != nil && time.Since(*last) < commitProof {
			return nil
		}
	}
	_, err := writeAs(context.Background(), db, byFunction, "", func(Reader) ([]Statement, error) {
		return []Statement{{Text: fmt.Sprintf(touchSQL, "+")}, {Text: fmt.Sprintf(touchSQL, "-")}}, nil
	})
	if err != nil {
		return fmt.Errorf("the database takes no write: %w", err)
	}
	return nil
}
