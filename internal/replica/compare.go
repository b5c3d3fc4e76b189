package replica

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"contactbase/internal/backup"
	"contactbase/internal/sqlite"
)

// checkIntegrity runs integrity_check or quick_check on a database that nobody has open.
func checkIntegrity(ctx context.Context, database, check string) (err error) {
	db, err := sql.Open("sqlite", sqlite.Name(database))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	var found string
	if err := db.QueryRowContext(ctx, "PRAGMA "+check+"(1)").Scan(&found); err != nil {
		return fmt.Errorf("checking the restored %s: %w", filepath.Base(database), err)
	}
	if found != "ok" {
		return fmt.Errorf("the restored %s is damaged: %s", filepath.Base(database), found)
	}
	return nil
}

// countRows returns the number of rows in each table, except for Litestream's own.
func countRows(db sqlite.Reader) (map[string]int64, error) {
	names, err := sqlite.Values[string](db, "SELECT name FROM sqlite_schema WHERE type = 'table' "+
		"AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND name NOT LIKE '\\_litestream\\_%' ESCAPE '\\'")
	if err != nil {
		return nil, err
	}
	counts := make(map[string]int64, len(names))
	for _, name := range names {
		quoted := `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
		if counts[name], err = sqlite.Value[int64](db, "SELECT count(*) FROM "+quoted); err != nil {
			return nil, fmt.Errorf("counting %s: %w", name, err)
		}
	}
	return counts, nil
}

// checkAndCount checks a database that nobody has open, and returns the number of rows in each table.
func checkAndCount(ctx context.Context, database string) (_ map[string]int64, err error) {
	if err := checkIntegrity(ctx, database, "integrity_check"); err != nil {
		return nil, err
	}
	db, err := backup.OpenReadOnly(database)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return countRows(db)
}

func total(counts map[string]int64) (rows int64) {
	for _, count := range counts {
		rows += count
	}
	return rows
}

// difference says in which tables the numbers of rows differ, "" for none.
func difference(here, there map[string]int64) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(here)) {
		if count, isThere := there[name]; !isThere || count != here[name] {
			parts = append(parts, fmt.Sprintf("%s has %d rows here and %d there", name, here[name], count))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(there)) {
		if _, isHere := here[name]; !isHere {
			parts = append(parts, name+" is only there")
		}
	}
	return strings.Join(parts, ", ")
}
