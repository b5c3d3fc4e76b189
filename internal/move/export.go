package move

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/secret"
	"contactbase/internal/sqlite"
	"contactbase/internal/tenant"
)

// Progress receives the number of rows done so far.
type Progress func(done, total int)

// Summary describes an archive.
type Summary struct {
	Tenant, Name string
	Checksum     string // the archive's SHA-256
	Rows         map[string]int
}

func summarize(c *contents, checksum string) *Summary {
	s := &Summary{c.tenant, c.name, checksum, map[string]int{}}
	for t, count := range c.rows {
		s.Rows[t.name] = count
	}
	return s
}

// Source is a tenant to export.
type Source struct {
	App        core.App
	Tenant     string // its id
	Passphrase string
	WorkFactor int   // of scrypt; 0 means the constant WorkFactor
	Room       int64 // bytes that the archive's database may take in the data directory
	Progress   Progress
}

// Export writes the archive of a frozen tenant. It reads a snapshot of all rows; other tenants' writes continue.
func (s *Source) Export(ctx context.Context, to io.Writer) (summary *Summary, err error) {
	work, err := newWorkspace(s.App.DataDir())
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, work.remove()) }()
	held, err := s.collect(ctx, work.database())
	if err != nil {
		return nil, err
	}
	file, err := os.Open(work.database())
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	if err := checkFirstPage(file); err != nil {
		return nil, fmt.Errorf("the schema of the tenant's tables is too large "+
			"for an archive (remove custom fields that you do not need): %w", err)
	}
	checksum, err := seal(ctx, to, file, s.Passphrase, cmp.Or(s.WorkFactor, WorkFactor))
	if err != nil {
		return nil, fmt.Errorf("writing the archive: %w", err)
	}
	return summarize(held, checksum), nil
}

// collect creates the archive's database.
func (s *Source) collect(ctx context.Context, file string) (held *contents, err error) {
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		return nil, err
	}
	db, err := open(ctx, s.App, file, writable)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.close()) }()
	version, err := schemaVersion(s.App)
	if err != nil {
		return nil, err
	}
	for _, statement := range []string{
		fmt.Sprintf("PRAGMA `archive`.page_size = %d", pageSize),
		"PRAGMA `archive`.journal_mode = OFF", "PRAGMA `archive`.synchronous = OFF",
		fmt.Sprintf("PRAGMA `archive`.application_id = %d", format),
		fmt.Sprintf("PRAGMA `archive`.user_version = %d", version),
		fmt.Sprintf("PRAGMA `archive`.max_page_count = %d", max(1, s.Room/pageSize)), "BEGIN",
	} {
		if err := db.run(statement); err != nil {
			return nil, err
		}
	}
	state, err := sqlite.Value[tenant.State](db, "SELECT `state` FROM `here`.`_moves` WHERE `tenant` = ?", s.Tenant)
	if err == nil && state != tenant.Frozen {
		err = errors.New("the tenant still accepts writes: freeze it first with --freeze")
	}
	if err == nil {
		err = s.copyTables(db)
	}
	if err == nil {
		err = db.run("COMMIT")
	}
	if err != nil {
		return nil, err
	}
	held, err = db.inspect()
	if err = db.explain(err); err != nil {
		return nil, fmt.Errorf("the tenant cannot be moved: %w", err)
	}
	return held, nil
}

// copyTables copies the tenant's rows in the transaction of db.
func (s *Source) copyTables(db *database) error {
	for i, t := range tables {
		here, err := db.columnsHere(t)
		if err != nil {
			return err
		}
		if err := db.run(t.create("archive", names(here))); err != nil {
			return err
		}
		values := make([]string, len(here))
		for i, c := range here {
			values[i] = "t.`" + c.name + "`"
		}
		if err := db.run(
			"INSERT INTO `archive`.`"+t.name+"` SELECT "+strings.Join(values, ", ")+" FROM "+t.from, s.Tenant,
		); err != nil {
			return fmt.Errorf("copying %s: %w", t.name, err)
		}
		if err := s.openSecrets(db, t); err != nil {
			return err
		}
		s.Progress(i+1, len(tables))
	}
	missing, err := sqlite.Value[int](db, "SELECT (SELECT count(*) FROM `here`.`contacts` WHERE `tenant` = ?) - "+
		"(SELECT count(*) FROM `archive`.`contacts`)", s.Tenant)
	if err == nil && missing != 0 {
		err = fmt.Errorf("%d contacts are missing from the search: run contactbase doctor", missing)
	}
	return err
}

// openSecrets decrypts the columns that only this installation can decrypt.
func (s *Source) openSecrets(db *database, t *table) error {
	for _, column := range t.secrets {
		stored := map[string]string{}
		query := "SELECT `id`, `" + column + "` FROM `archive`.`" + t.name + "` WHERE `" + column + "` <> ''"
		err := sqlite.Each(db, query, func(rows *sql.Rows) error {
			var id, value string
			err := rows.Scan(&id, &value)
			stored[id] = value
			return err
		})
		if err != nil {
			return err
		}
		for id, value := range stored {
			plain, err := secret.Open(s.App, value)
			if err == nil {
				err = db.run("UPDATE `archive`.`"+t.name+"` SET `"+column+"` = ? WHERE `id` = ?", plain, id)
			}
			if err != nil {
				return fmt.Errorf("%s of %s of %s: %w", column, id, t.name, err)
			}
		}
	}
	return nil
}
