package upgrade

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/backup"
)

// ErrOneWay means that a migration cannot be reverted.
var ErrOneWay = errors.New("cannot be reverted: restore a backup made before it")

// Down reverts all migrations after the one named newest, so that the version whose last migration that is can open the data directory. It
// returns the reverted migrations and the path of the backup made before. The error is backup.ErrServed if another process has the directory
// open.
func (u *Upgrade) Down(ctx context.Context, newest string) (undone []string, kept string, err error) {
	todo, err := u.above(newest)
	if err != nil || len(todo) == 0 {
		return nil, "", err
	}
	release, err := backup.LockExclusively(u.app)
	if err != nil {
		return nil, "", err
	}
	defer func() { err = errors.Join(err, release()) }()
	if kept, _, err = backup.BeforeUpgrade(ctx, u.app.DataDir()); err != nil {
		return nil, "", fmt.Errorf("making a backup first: %w", err)
	}
	err = u.app.RunInTransaction(func(tx core.App) error {
		for _, migration := range todo {
			if err := down(tx, migration); err != nil {
				return fmt.Errorf("reverting %s: %w", migration.File, err)
			}
			undone = append(undone, migration.File)
		}
		return nil
	})
	if err != nil {
		return nil, kept, err
	}
	return undone, kept, backup.Upgraded(u.app.DataDir())
}

// above returns the migrations that were applied after newest, the last one first. The error is ErrOneWay if one of them cannot be reverted.
func (u *Upgrade) above(newest string) ([]core.Migration, error) {
	applied, err := backup.Applied(u.app.DataDir())
	if err != nil {
		return nil, err
	}
	if !backup.IsOwn(newest) || !slices.Contains(applied, newest) {
		return nil, fmt.Errorf("the data directory %s has no migration %q; use the one that the older version names", u.app.DataDir(), newest)
	}
	var todo []core.Migration
	for _, migration := range core.AppMigrations.Items() {
		if migration.File <= newest || !slices.Contains(applied, migration.File) {
			continue
		}
		if migration.Down == nil {
			return nil, fmt.Errorf("the migration %s %w", migration.File, ErrOneWay)
		}
		todo = append(todo, *migration)
	}
	slices.Reverse(todo)
	return todo, nil
}

func down(tx core.App, migration core.Migration) error {
	if err := migration.Down(tx); err != nil {
		return err
	}
	_, err := tx.DB().Delete(core.DefaultMigrationsTable, dbx.HashExp{"file": migration.File}).Execute()
	return err
}
