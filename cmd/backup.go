package cmd

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/pocketbase/pocketbase/core"
	"github.com/spf13/cobra"

	"contactbase/internal/backup"
	"contactbase/internal/upgrade"
)

// offline marks the commands that must not open the database.
const offline = "offline"

// IsOffline reports whether the arguments name a command that must not open the database.
func IsOffline(root *cobra.Command, args []string) bool {
	command, _, err := root.Find(args)
	return len(args) == 0 || IsCompletion(args) || err == nil && command.Annotations[offline] != ""
}

// NewBackupCommand returns the command that makes a backup.
func NewBackupCommand(app core.App) *cobra.Command {
	command := &cobra.Command{
		Use:     "backup [NAME]",
		Short:   "Make a backup, also of a data directory that is being served",
		Example: "  contactbase backup\n  contactbase backup before-the-import",
		Args:    exactArgs,
		RunE: run(app, func(command *cobra.Command, args []string) error {
			var name string
			if len(args) > 0 {
				name = args[0]
			}
			name, err := backup.Create(command.Context(), app, name)
			if err != nil {
				return err
			}
			shown := row{{"name", name}}
			if !app.Settings().Backups.S3.Enabled {
				shown = append(shown, property{"path", filepath.Join(app.DataDir(), core.LocalBackupsDirName, name)})
			}
			return printOne(command, shown)
		}),
	}
	command.Flags().Bool("json", false, "print JSON")
	return command
}

// NewRestoreCommand returns the command that restores a backup.
func NewRestoreCommand(app core.App) *cobra.Command {
	command := &cobra.Command{
		Use:         restoreName + " FILE",
		Short:       "Restore a backup over the data directory, which no server may be using",
		Example:     "  contactbase restore pb_data/backups/before-the-import.zip",
		Args:        exactArgs,
		Annotations: map[string]string{offline: "true", folderUse: ownFolder},
		RunE: func(command *cobra.Command, args []string) error {
			kept, err := backup.Restore(args[0], app.DataDir())
			if err != nil {
				return fmt.Errorf("restoring %s: %w", args[0], err)
			}
			return printOne(command, row{{"restored", app.DataDir()}, {"previous", kept}})
		},
	}
	command.Flags().Bool("json", false, "print JSON")
	return command
}

// NewDowngradeCommand returns the command that takes back what newer versions have changed in the data directory.
func NewDowngradeCommand(app core.App, upgrade *upgrade.Upgrade) *cobra.Command {
	command := &cobra.Command{
		Use:   "downgrade MIGRATION",
		Short: "Take back what is newer than a migration, for the older version that names it",
		Example: "  contactbase downgrade 1760000023_moves.go\n\n" +
			"  The older version refuses the data directory and names the migration. Stop the server, run this with the newer\n" +
			"  version, and then start the older one. What was written since the upgrade stays.",
		Args: exactArgs,
		RunE: func(command *cobra.Command, args []string) error {
			undone, kept, err := upgrade.Down(command.Context(), args[0])
			if err != nil {
				return err
			}
			return printOne(command, row{{"folder", app.DataDir()}, {"newest", args[0]}, {"undone", strings.Join(undone, " ")}, {"backup", kept}})
		},
	}
	command.Flags().Bool("json", false, "print JSON")
	return command
}
