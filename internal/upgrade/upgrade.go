// Package upgrade upgrades the data directory of an older version.
//
// PocketBase applies all migrations in one transaction, before it listens. Here a backup comes first, and each
// migration has its own transaction, so that completed ones stay when the program is killed. A server answers reads
// during the upgrade.
package upgrade

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/hook"

	"contactbase/internal/backup"
	"contactbase/internal/order"
)

const hookID = "contactbaseUpgrade"

// Upgrade upgrades the data directory of an app.
type Upgrade struct {
	app     core.App
	out     io.Writer
	running atomic.Bool

	applying atomic.Bool // whether migrations change the schema

	release  func() error // ends the exclusive lock; nil without one
	backedUp bool         // in this run

	mu      sync.Mutex
	cancel  context.CancelFunc
	ended   bool // whether the program is shutting down
	failure error
}

// New returns the upgrade of an app that is not open yet. It prints its progress to out.
func New(app core.App, out io.Writer) *Upgrade {
	u := &Upgrade{app: app, out: out}
	app.OnBootstrap().Bind(&hook.Handler[*core.BootstrapEvent]{
		Id: hookID,
		Func: func(e *core.BootstrapEvent) error {
			if err := u.beforeOpening(); err != nil {
				return err
			}
			return e.Next()
		},
		Priority: order.DirectoryBackedUp,
	})
	order.OnStop(app, hookID, order.WaitsEnd, u.end)
	return u
}

// beforeOpening makes the backup if PocketBase is about to migrate its own tables, which it does when it
// opens the directory.
func (u *Upgrade) beforeOpening() error {
	applied, err := backup.Applied(u.app.DataDir())
	if err != nil || !isOurs(applied) || len(missing(core.SystemMigrations, applied)) == 0 {
		return err
	}
	return u.ensureBackup(context.Background(), olderVersion)
}

// Run upgrades the data directory. It returns backup.ErrServed if another process has an older directory open.
func (u *Upgrade) Run(ctx context.Context) (err error) {
	todo, err := u.prepare()
	if err != nil {
		return err
	}
	u.applying.Store(true)
	defer u.applying.Store(false)
	defer func() { err = errors.Join(err, u.unlock()) }()
	if err := backup.NoteExtensions(u.app); err != nil {
		return err
	}
	if len(todo) == 0 {
		if err := u.app.RunAllMigrations(); err != nil { // of a new directory, or none
			return err
		}
	} else if err := u.apply(ctx, todo); err != nil {
		return err
	}
	return backup.Upgraded(u.app.DataDir())
}

// Applying reports whether migrations may change the schema now.
func (u *Upgrade) Applying() bool { return u.applying.Load() }

// prepare returns the pending migrations of an older directory, and locks it exclusively if there are any.
func (u *Upgrade) prepare() ([]core.Migration, error) {
	todo, err := u.pending()
	if err != nil || len(todo) == 0 {
		return nil, err
	}
	if u.release == nil {
		u.release, err = backup.LockExclusively(u.app)
		if errors.Is(err, backup.ErrServed) {
			return nil, fmt.Errorf("the data directory %s %s, and %w", u.app.DataDir(), whyUpgrade(todo), err)
		}
		if err != nil {
			return nil, err
		}
	}
	return u.pending() // another process may have applied them meanwhile
}

func (u *Upgrade) unlock() error {
	if u.release == nil {
		return nil
	}
	release := u.release
	u.release = nil
	return release()
}

// pending lists the migrations that an older directory lacks, and none for a new one.
func (u *Upgrade) pending() ([]core.Migration, error) {
	applied, err := backup.Applied(u.app.DataDir())
	if err != nil || !isOurs(applied) {
		return nil, err
	}
	return missing(core.AppMigrations, applied), nil
}

// whyUpgrade says why migrations are pending.
func whyUpgrade(todo []core.Migration) string {
	if slices.ContainsFunc(todo, func(m core.Migration) bool { return backup.IsOwn(m.File) }) {
		return olderVersion
	}
	return "lacks migrations of an extension"
}

const olderVersion = "was written by an older version"

func (u *Upgrade) ensureBackup(ctx context.Context, why string) error {
	if u.backedUp {
		return nil
	}
	fmt.Fprintf(u.out, "The data directory %s %s. Making a backup, then upgrading it.\n", u.app.DataDir(), why)
	if u.Running() {
		fmt.Fprintln(u.out, "Meanwhile, reads are served; writes get 503 and can be retried.")
	}
	began := time.Now()
	path, made, err := backup.BeforeUpgrade(ctx, u.app.DataDir())
	if err != nil {
		return fmt.Errorf("making a backup before the upgrade of the data directory: %w", err)
	}
	if made {
		fmt.Fprintf(u.out, "  backup: %s (%s)\n", path, elapsed(began))
	} else {
		fmt.Fprintf(u.out, "  backup: %s, made before an interruption\n", path)
	}
	u.backedUp = true
	return nil
}

// apply makes a backup and applies the migrations.
func (u *Upgrade) apply(ctx context.Context, todo []core.Migration) error {
	if err := u.ensureBackup(ctx, whyUpgrade(todo)); err != nil {
		return err
	}
	for i, migration := range todo {
		if err := ctx.Err(); err != nil {
			return err
		}
		fmt.Fprintf(u.out, "  migration %d of %d: %s\n", i+1, len(todo), migration.File)
		began := time.Now()
		if err := up(u.app, migration); err != nil {
			return err
		}
		fmt.Fprintf(u.out, "  done (%s)\n", elapsed(began))
	}
	fmt.Fprintln(u.out, "The data directory is up to date.")
	return nil
}

// up applies a migration as PocketBase does, but without a transaction on auxiliary.db, to which requests write
// during the upgrade.
func up(app core.App, migration core.Migration) error {
	err := app.RunInTransaction(func(tx core.App) error {
		if err := migration.Up(tx); err != nil {
			return err
		}
		_, err := tx.DB().Insert(core.DefaultMigrationsTable,
			dbx.Params{"file": migration.File, "applied": time.Now().UnixMicro()}).Execute()
		return err
	})
	if err != nil {
		return fmt.Errorf("failed to apply migration %s: %w", migration.File, err)
	}
	return nil
}

// isOurs reports whether a version of this program has applied any of the migrations.
func isOurs(applied []string) bool { return slices.ContainsFunc(applied, backup.IsOwn) }

// missing returns the migrations of a list that were not applied, in order.
func missing(list core.MigrationsList, applied []string) (all []core.Migration) {
	for _, migration := range list.Items() {
		if !slices.Contains(applied, migration.File) {
			all = append(all, *migration)
		}
	}
	return all
}

func elapsed(since time.Time) time.Duration { return time.Since(since).Round(100 * time.Millisecond) }
