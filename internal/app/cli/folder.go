package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"contactbase/cmd"
	"contactbase/internal/backup"
	"contactbase/internal/replica"
)

// makers are the commands that create a data directory.
var makers = []string{
	"contactbase serve", "contactbase " + cmd.DemoName, "contactbase superuser",
	"contactbase tenant create", "contactbase tenant import",
}

// checkFolder returns an error if the command would create a data directory that must exist already. It also returns
// one if the command would run as root and create files that lock out the directory's owner.
func checkFolder(command *cobra.Command, args []string, dataDir string) error {
	if asksForHelp(args) {
		return nil
	}
	offline := isOffline(command, args)
	if !offline || command.Annotations[cmd.FolderUse] == cmd.OwnFolder {
		if err := backup.CheckOwner(dataDir); err != nil {
			return err
		}
	}
	if offline || slices.Contains(makers, command.CommandPath()) ||
		command.HasParent() && slices.Contains(makers, command.Parent().CommandPath()) {
		return nil
	}
	if _, err := os.Stat(filepath.Join(dataDir, "data.db")); errors.Is(err, fs.ErrNotExist) {
		if err := replica.CheckFolder(dataDir); err != nil {
			return err
		}
		if err := backup.CheckFolder(dataDir); err != nil {
			return err
		}
		return fmt.Errorf("%s is not a data directory: it has no data.db; "+
			"choose another with --dir, or create one with contactbase serve", dataDir)
	}
	return nil
}

// checkArchive returns an error if there is no file for tenant import, before that creates a data directory.
func checkArchive(command *cobra.Command, args []string) error {
	isImport := command.CommandPath() == "contactbase tenant import"
	if isImport && command.ParseFlags(args) == nil && command.Flags().NArg() > 0 { // it reports other errors itself
		_, err := os.Stat(command.Flags().Arg(0))
		return err
	}
	return nil
}
