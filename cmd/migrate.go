package cmd

import (
	"github.com/pocketbase/pocketbase/core"
	"github.com/spf13/cobra"

	"contactbase/internal/script"
)

// Scripts is the annotation of commands that load extensions in JavaScript: Hooks with Migrations, or only Migrations.
const (
	Scripts    = "scripts"
	Hooks      = "hooks"
	Migrations = "migrations"
)

// loading adds to a command's annotations that it loads extensions in JavaScript, and their flags.
func loading(command *cobra.Command, needed string, flags ...string) *cobra.Command {
	if command.Annotations == nil {
		command.Annotations = map[string]string{}
	}
	command.Annotations[Scripts] = needed
	for _, flag := range flags {
		command.Annotations[settingsUse] += " " + flag
	}
	return command
}

// NewMigrateCommand returns the commands for migrations in JavaScript. The program's own are applied at the start, and
// never reverted.
func NewMigrateCommand(app core.App, scripts *script.Config) *cobra.Command {
	write := func(command *cobra.Command, args []string) error {
		return scripts.Migrate(app, append([]string{command.Name()}, args...))
	}
	command := group("migrate", "Write and apply your own migrations in JavaScript",
		&cobra.Command{
			Use: "up", Short: "Apply all migrations that are pending, after a backup",
			Example: "  contactbase migrate up",
			RunE:    run(app, func(*cobra.Command, []string) error { return nil }),
		},
		&cobra.Command{
			Use: "create NAME", Short: "Write an empty migration into pb_migrations",
			Example: "  contactbase migrate create add_orders",
			RunE:    run(app, write),
		},
		&cobra.Command{
			Use: "collections", Short: "Write a migration with all collections as they are into pb_migrations",
			Example: "  contactbase migrate collections",
			RunE:    run(app, write),
		},
	)
	for _, sub := range command.Commands() {
		loading(sub, Migrations, "migrationsDir")
	}
	return command
}
