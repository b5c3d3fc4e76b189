// Package upgrade brings the data folder of an older version up to date, and takes it back.
//
// PocketBase applies all migrations in one transaction, before it listens. Here a backup comes first. Each migration is a
// transaction of its own, so that what is done stays done when the program is killed. A server answers reads meanwhile.
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
)

const hookID = "contactbaseUpgrade"

// Upgrade is what a version of the program does with the folder of an older one.
type Upgrade struct {
	app     core.App
	out     io.Writer
	running atomic.Bool

	release  func() error // lets other processes into the folder; nil where they are not kept out
	backedUp bool         // in this run

	mu      sync.Mutex
	cancel  context.CancelFunc
	ended   bool // the program ends
	failure error
}

// New returns the upgrade of an app that is not open yet, which tells out how far it is.
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
		Priority: -9000, // behind the check that the folder is no newer one
	})
	app.OnTerminate().Bind(&hook.Handler[*core.TerminateEvent]{
		Id: hookID,
		Func: func(e *core.TerminateEvent) error {
			u.end()
			return e.Next()
		},
		Priority: -20000, // before what Serve starts is stopped
	})
	return u
}

// beforeOpening makes the backup where PocketBase is about to change its own tables, which it does when it opens the folder.
func (u *Upgrade) beforeOpening() error {
	applied, err := backup.Applied(u.app.DataDir())
	if err != nil || !isOurs(applied) || len(missing(core.SystemMigrations, applied)) == 0 {
		return err
	}
	return u.ensureBackup(context.Background())
}

// Run brings the folder up to date. It returns backup.ErrServed where another process has an older folder open.
func (u *Upgrade) Run(ctx context.Context) (err error) {
	todo, err := u.prepare()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, u.unlock()) }()
	if len(todo) == 0 {
		if err := u.app.RunAllMigrations(); err != nil { // of a new folder, or none
			return err
		}
	} else if err := u.apply(ctx, todo); err != nil {
		return err
	}
	return backup.Upgraded(u.app.DataDir())
}

// prepare returns what has to be applied to an older folder, and keeps other processes out of it.
func (u *Upgrade) prepare() ([]core.Migration, error) {
	todo, err := u.pending()
	if err != nil || len(todo) == 0 {
		return nil, err
	}
	if u.release == nil {
		u.release, err = backup.LockExclusively(u.app)
		if errors.Is(err, backup.ErrServed) {
			return nil, fmt.Errorf("the data folder %s is of an older version, and %w: stop that before it is brought up to date", u.app.DataDir(), err)
		}
		if err != nil {
			return nil, err
		}
	}
	return u.pending() // another process may have been faster
}

func (u *Upgrade) unlock() error {
	if u.release == nil {
		return nil
	}
	release := u.release
	u.release = nil
	return release()
}

// pending lists what has to be applied to an older folder, nothing for a new one.
func (u *Upgrade) pending() ([]core.Migration, error) {
	applied, err := backup.Applied(u.app.DataDir())
	if err != nil || !isOurs(applied) {
		return nil, err
	}
	return missing(core.AppMigrations, applied), nil
}

func (u *Upgrade) ensureBackup(ctx context.Context) error {
	if u.backedUp {
		return nil
	}
	fmt.Fprintf(u.out, "The data folder %s is of an older version and is brought up to date, after a backup.\n", u.app.DataDir())
	if u.Running() {
		fmt.Fprintln(u.out, "It can be read meanwhile; who writes is asked to try again.")
	}
	began := time.Now()
	path, made, err := backup.BeforeUpgrade(ctx, u.app.DataDir())
	if err != nil {
		return fmt.Errorf("making a backup before the data folder is brought up to date: %w", err)
	}
	if made {
		fmt.Fprintf(u.out, "  backup: %s (%s)\n", path, elapsed(began))
	} else {
		fmt.Fprintf(u.out, "  backup: %s, made before this was interrupted\n", path)
	}
	u.backedUp = true
	return nil
}

// apply makes a backup and then the changes.
func (u *Upgrade) apply(ctx context.Context, todo []core.Migration) error {
	if err := u.ensureBackup(ctx); err != nil {
		return err
	}
	for i, migration := range todo {
		if err := ctx.Err(); err != nil {
			return err
		}
		fmt.Fprintf(u.out, "  change %d of %d: %s\n", i+1, len(todo), migration.File)
		began := time.Now()
		if err := up(u.app, migration); err != nil {
			return err
		}
		fmt.Fprintf(u.out, "  done (%s)\n", elapsed(began))
	}
	fmt.Fprintln(u.out, "The data folder is up to date.")
	return nil
}

// up applies a migration as PocketBase does, but without the database of logs: requests write to that meanwhile.
func up(app core.App, migration core.Migration) error {
	err := app.RunInTransaction(func(tx core.App) error {
		if err := migration.Up(tx); err != nil {
			return err
		}
		_, err := tx.DB().Insert(core.DefaultMigrationsTable, dbx.Params{"file": migration.File, "applied": time.Now().UnixMicro()}).Execute()
		return err
	})
	if err != nil {
		return fmt.Errorf("failed to apply migration %s: %w", migration.File, err)
	}
	return nil
}

// isOurs tells whether a version of this program has worked with a folder of these migrations.
func isOurs(applied []string) bool { return slices.ContainsFunc(applied, backup.IsOwn) }

// missing returns the migrations of a list that are not among the applied ones, in their order.
func missing(list core.MigrationsList, applied []string) (all []core.Migration) {
	for _, migration := range list.Items() {
		if !slices.Contains(applied, migration.File) {
			all = append(all, *migration)
		}
	}
	return all
}

func elapsed(since time.Time) time.Duration { return time.Since(since).Round(100 * time.Millisecond) }
