package cli

import (
	"cmp"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"contactbase/cmd"
	"contactbase/hooks"
)

// loadScripts loads the extensions in JavaScript that the command needs. Their folders are beside the data directory
// as its path was given, before links are resolved.
func (p *Program) loadScripts(command *cobra.Command) error {
	needed := command.Annotations[cmd.Scripts]
	if needed == "" {
		return nil
	}
	c := &p.config.scripts
	c.Hooks = cmp.Or(c.Hooks, filepath.Join(p.config.given, "..", "pb_hooks"))
	c.Migrations = cmp.Or(c.Migrations, filepath.Join(p.config.given, "..", "pb_migrations"))
	c.Guard = hooks.GuardMigration
	if err := c.LoadMigrations(p.Base.App); err != nil {
		return fmt.Errorf("loading the migrations in JavaScript: %w", err)
	}
	if needed == cmd.Migrations {
		return nil
	}
	if err := c.LoadHooks(p.Base.App); err != nil {
		return fmt.Errorf("loading the hooks in JavaScript: %w", err)
	}
	hooks.GuardCollections(p.Base.App, p.app.Upgrade.Applying)
	return nil
}
