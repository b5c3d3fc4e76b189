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

// NewBackupCommand returns the command that makes a backup.
func NewBackupCommand(app core.App) *cobra.Command {
	return alone(&cobra.Command{
		Use:     "backup [NAME]",
		Short:   "Back up a data directory, even while it is being served",
		Example: "  contactbase backup\n  contactbase backup before-the-import",
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
	})
}

// NewRestoreCommand returns the command that restores a backup.
func NewRestoreCommand(app core.App) *cobra.Command {
	return alone(&cobra.Command{
		Use:               "restore FILE",
		Short:             "Restore a backup over the data directory; stop the server first",
		Example:           "  contactbase restore pb_data/backups/before-the-import.zip",
		ValidArgsFunction: completeFiles,
		Annotations:       map[string]string{Offline: "true", FolderUse: OwnFolder},
		RunE: func(command *cobra.Command, args []string) error {
			kept, err := backup.Restore(args[0], app.DataDir())
			if err != nil {
				return fmt.Errorf("restoring %s: %w", args[0], err)
			}
			return printOne(command, row{{"restored", app.DataDir()}, {"previous", kept}})
		},
	})
}

// NewDowngradeCommand returns the command that reverts the migrations of newer versions.
func NewDowngradeCommand(app core.App, upgrade *upgrade.Upgrade) *cobra.Command {
	return alone(&cobra.Command{
		Use:   "downgrade MIGRATION",
		Short: "Revert newer migrations, down to the one that the older version names",
		Example: "  contactbase downgrade 1760000025_member_rules.go\n\n" +
			"  The older version refuses the data directory and names the migration. Stop the server, run this with the newer\n" +
			"  version, then start the older one. Data written since the upgrade is kept.",
		RunE: func(command *cobra.Command, args []string) error {
			undone, kept, err := upgrade.Down(command.Context(), args[0])
			if err != nil {
				return err
			}
			return printOne(command, row{{"folder", app.DataDir()}, {"newest", args[0]}, {"undone", strings.Join(undone, " ")}, {"backup", kept}})
		},
	})
}
