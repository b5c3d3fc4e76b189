package backup

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/sqlite"
)

// notedSQL selects the names of the migrations in Go that extensions have had. PocketBase keeps its settings in the
// same table.
const notedSQL = "SELECT n.`value` FROM `_params` p, json_each(p.`value`) n WHERE p.`id` = 'contactbaseExtensions'"

const noteSQL = "INSERT INTO `_params` (`id`, `value`) VALUES ('contactbaseExtensions', ?1) " +
	"ON CONFLICT (`id`) DO UPDATE SET `value` = ?1"

// NoteExtensions notes in the data directory of an open app which migrations in Go are an extension's: once the
// extension is gone, their names cannot be told from those of a newer PocketBase. Without an extension it does nothing.
func NoteExtensions(app core.App) error {
	var names []string
	for _, migration := range core.AppMigrations.Items() {
		if strings.HasSuffix(migration.File, ".go") && !IsOwn(migration.File) {
			names = append(names, migration.File)
		}
	}
	return noteMigrations(app, names)
}

func noteMigrations(app core.App, names []string) error {
	if len(names) == 0 {
		return nil
	}
	noted, err := sqlite.Values[string](sqlite.Direct(app.ConcurrentDB()), notedSQL)
	if err != nil {
		return fmt.Errorf("reading which migrations are of extensions: %w", err)
	}
	all := slices.Concat(noted, names)
	slices.Sort(all)
	if all = slices.Compact(all); len(all) == len(noted) {
		return nil
	}
	encoded, err := json.Marshal(all)
	if err != nil {
		return err
	}
	if _, err := sqlite.Exec(app, noteSQL, string(encoded)); err != nil {
		return fmt.Errorf("noting which migrations are of extensions: %w", err)
	}
	return nil
}

// notedMigrations returns what NoteExtensions has noted in a database.
func notedMigrations(database string) (names []string, err error) {
	db, err := OpenReadOnly(database)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return sqlite.Values[string](db, notedSQL)
}
