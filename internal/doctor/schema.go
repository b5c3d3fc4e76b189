package doctor

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/dbutils"

	"contactbase/internal/backup"
	"contactbase/internal/sqlite"
)

// partsSQL lists the parts of a database; wantedSQL lists those that ours must have: PocketBase's collection of
// users may be deleted.
const (
	partsSQL  = "SELECT type || ' ' || name FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%' ORDER BY 1"
	wantedSQL = "SELECT type || ' ' || name FROM sqlite_schema " +
		"WHERE name NOT LIKE 'sqlite_%' AND tbl_name <> 'users' ORDER BY 1"
)

// version reports whether the data directory is of this version.
func (x *examination) version() (current bool, err error) {
	applied, err := backup.Applied(x.dir)
	if err != nil {
		return false, err
	}
	pending := 0
	for _, migration := range core.AppMigrations.Items() {
		if !slices.Contains(applied, migration.File) {
			pending++
		}
	}
	if pending > 0 {
		x.add("version", Warning,
			fmt.Sprintf("the data directory was written by an older version: %d migrations are pending", pending),
			"start the program, which makes a backup and applies them")
		return false, nil
	}
	x.add("version", OK, "the data directory is up to date", "")
	return true, nil
}

// schema compares the tables, indexes and triggers with those of a new directory, and with the indexes that the
// collections list.
func (x *examination) schema() error {
	wanted, sources, err := reference()
	if err != nil {
		return fmt.Errorf("creating a new directory to compare with: %w", err)
	}
	parts, err := sqlite.Values[string](x.data, partsSQL)
	if err != nil {
		return err
	}
	indexes, err := x.collectionIndexes()
	if err != nil {
		return err
	}
	for part, source := range indexes {
		if !slices.Contains(wanted, part) {
			wanted = append(wanted, part)
		}
		sources[part] = source
	}
	faults := 0
	for _, part := range wanted {
		if slices.Contains(parts, part) {
			continue
		}
		faults++
		advice := "stop the program and restore a backup"
		if source := sources[part]; source != "" && !strings.HasPrefix(part, "table ") {
			advice = "create it again in the SQL console of the dashboard, or with sqlite3: " + source
		}
		x.add("schema", Failed, part+" is missing", advice)
	}
	if faults == 0 {
		x.add("schema", OK, fmt.Sprintf("all %d tables, indexes and triggers exist", len(wanted)), "")
	}
	return nil
}

// reference returns the parts of a new directory's database, and the statements that create them.
func reference() (parts []string, sources map[string]string, err error) {
	dir, err := os.MkdirTemp("", "contactbase-doctor-")
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	app := core.NewBaseApp(core.BaseAppConfig{DataDir: dir})
	app.OnBootstrap().Unbind("__pbNotifyWatcherSystemHook__") // nothing will change there
	defer func() { err = errors.Join(err, app.ResetBootstrapState()) }()
	if err := app.Bootstrap(); err != nil {
		return nil, nil, err
	}
	if err := app.RunAllMigrations(); err != nil {
		return nil, nil, err
	}
	db, err := backup.OpenReadOnly(filepath.Join(dir, "data.db"))
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if parts, err = sqlite.Values[string](db, wantedSQL); err != nil {
		return nil, nil, err
	}
	sources = map[string]string{}
	for _, part := range parts {
		_, name, _ := strings.Cut(part, " ")
		if sources[part], err = sqlite.Value[string](
			db, "SELECT coalesce(sql, '') FROM sqlite_schema WHERE name = ?", name,
		); err != nil {
			return nil, nil, err
		}
	}
	return parts, sources, nil
}

// collectionIndexes returns the statements of the indexes that the collections list, including those of admins.
func (x *examination) collectionIndexes() (map[string]string, error) {
	lists, err := sqlite.Values[string](x.data,
		"SELECT indexes FROM _collections WHERE indexes IS NOT NULL AND type <> 'view'")
	if err != nil {
		return nil, err
	}
	all := map[string]string{}
	for _, list := range lists {
		var statements []string
		if err := json.Unmarshal([]byte(list), &statements); err != nil {
			return nil, err
		}
		for _, statement := range statements {
			if name := dbutils.ParseIndex(statement).IndexName; name != "" {
				all["index "+name] = statement
			}
		}
	}
	return all, nil
}
