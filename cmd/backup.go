package cmd

import (
	"fmt"
	"path/filepath"

	"github.com/pocketbase/pocketbase/core"
	"github.com/spf13/cobra"

	"contactbase/internal/backup"
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
