// Package script loads extensions in JavaScript with PocketBase's plug-ins.
package script

import (
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/plugins/jsvm"
	"github.com/pocketbase/pocketbase/plugins/migratecmd"
	"github.com/spf13/cobra"

	"contactbase/internal/extension"
)

// Config says where extensions are.
type Config struct {
	Hooks       string // the folder of *.pb.js
	Migrations  string // the folder of *.js
	Watch       bool   // whether the program restarts when a hook changes
	Pool        int    // how many runtimes are kept ready, in all
	Automigrate bool   // whether changes of collections in the dashboard are written as migrations

	// Guard runs a migration, and returns an error if it changes what the program relies on.
	Guard func(tx core.App, migration func() error) error
}

// nothing matches no file.
const nothing = `[^\s\S]`

// LoadMigrations registers the migrations, if there are any. It returns an error if others may write them.
func (c *Config) LoadMigrations(app core.App) error {
	if err := checkWriters(c.Migrations); err != nil {
		return err
	}
	if !exists(c.Migrations) && !exists(c.Hooks) {
		return nil
	}
	bindTypes(app)
	if err := register(app, jsvm.Config{
		HooksDir: c.Hooks, HooksFilesPattern: nothing, MigrationsDir: c.Migrations, TypesDir: app.DataDir(),
	}); err != nil {
		return err
	}
	for _, migration := range core.AppMigrations.Items() {
		if up := migration.Up; isScript(migration.File) && up != nil {
			migration.Up = func(tx core.App) error { return c.Guard(tx, func() error { return up(tx) }) }
		}
	}
	return nil
}

func isScript(file string) bool {
	return strings.HasSuffix(file, ".js") || strings.HasSuffix(file, ".ts")
}

// LoadHooks binds the hooks, if there are any, and what writes migrations. It returns an error if others may write the
// hooks. Each file has runtimes of its own, so that errors can name it.
func (c *Config) LoadHooks(app core.App) error {
	if c.Automigrate {
		if err := migratecmd.Register(app, nil, c.migrating()); err != nil {
			return err
		}
	}
	if err := checkWriters(c.Hooks); err != nil {
		return err
	}
	entries, err := os.ReadDir(c.Hooks)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	entries = slices.DeleteFunc(entries, func(entry fs.DirEntry) bool {
		return entry.IsDir() || !strings.HasSuffix(entry.Name(), ".pb.js") && !strings.HasSuffix(entry.Name(), ".pb.ts")
	})
	watch := c.Watch
	for _, entry := range entries {
		source, err := os.ReadFile(filepath.Join(c.Hooks, entry.Name()))
		if err != nil {
			return err
		}
		f := &file{app: app, name: entry.Name(), source: string(source)}
		err = extension.Load(app, f.name, func() error {
			return register(app, jsvm.Config{
				OnInit: f.prepare, HooksWatch: watch, HooksPoolSize: max(min(c.Pool, 1), c.Pool/len(entries)),
				HooksDir: c.Hooks, HooksFilesPattern: "^" + regexp.QuoteMeta(f.name) + "$",
				MigrationsDir: c.Migrations, MigrationsFilesPattern: nothing, TypesDir: app.DataDir(),
			})
		})
		if err != nil {
			return err
		}
		watch = false // one watcher sees all files
	}
	return nil
}

// register is jsvm.Register, which panics if a file cannot be run.
func register(app core.App, config jsvm.Config) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("%v", cause)
		}
	}()
	return jsvm.Register(app, config)
}

func (c *Config) migrating() migratecmd.Config {
	return migratecmd.Config{Dir: c.Migrations, TemplateLang: migratecmd.TemplateLangJS, Automigrate: c.Automigrate}
}

// Migrate writes a migration as PocketBase's command does: an empty one for create with a name, or one with all
// collections for collections.
func (c *Config) Migrate(app core.App, args []string) error {
	root := &cobra.Command{}
	plain := *c
	plain.Automigrate = false
	if err := migratecmd.Register(app, root, plain.migrating()); err != nil {
		return err
	}
	command := root.Commands()[0]
	return command.RunE(command, args)
}

func exists(folder string) bool {
	info, err := os.Stat(folder)
	return err == nil && info.IsDir()
}

//go:embed contactbase.d.ts
var types []byte

// bindTypes writes the types of $contactbase beside PocketBase's when the data directory is opened.
func bindTypes(app core.App) {
	app.OnBootstrap().BindFunc(func(e *core.BootstrapEvent) error {
		if err := e.Next(); err != nil {
			return err
		}
		path := filepath.Join(e.App.DataDir(), "contactbase.d.ts")
		if stored, err := os.ReadFile(path); err == nil && string(stored) == string(types) {
			return nil
		}
		return os.WriteFile(path, types, 0o600)
	})
}
