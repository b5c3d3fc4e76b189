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
)

// checkIntegrity runs integrity_check or quick_check on a database that nobody has open.
func checkIntegrity(ctx context.Context, database, check string) (err error) {
	db, err := sql.Open("sqlite", database)
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

// querier is a database or a transaction.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// countRows returns the number of rows in each table, except for Litestream's own.
func countRows(ctx context.Context, db querier) (map[string]int64, error) {
	rows, err := db.QueryContext(ctx, "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND name NOT LIKE '\\_litestream\\_%' ESCAPE '\\'")
	if err != nil {
		return nil, err
	}
	var names []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, errors.Join(err, rows.Close())
		}
		names = append(names, name)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return nil, err
	}
	counts := make(map[string]int64, len(names))
	for _, name := range names {
		var count int64
		quoted := `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
		if err := db.QueryRowContext(ctx, "SELECT count(*) FROM "+quoted).Scan(&count); err != nil {
			return nil, fmt.Errorf("counting %s: %w", name, err)
		}
		counts[name] = count
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
	return countRows(ctx, db)
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
