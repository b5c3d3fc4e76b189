package cmd

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"contactbase/internal/backup"
	"contactbase/internal/replica"
)

const (
	// folderUse is the annotation that says what a command needs of the data directory. Without it, a command needs an existing one,
	// unless it is offline.
	folderUse = "folder"
	ownFolder = "own" // owned by the user; may be empty
)

// makers are the commands that create a data directory.
var makers = []string{"contactbase serve", "contactbase " + DemoName, "contactbase superuser", "contactbase tenant create", "contactbase tenant import"}

// CheckFolder returns an error if the command would create a data directory that must exist already. It also returns one if the
// command would run as root and create files that lock out the directory's owner.
func CheckFolder(root *cobra.Command, args []string, dataDir string) error {
	command, _, err := root.Find(args)
	if err != nil || asksForHelp(args) {
		return nil //nolint:nilerr // which is said where the command is run
	}
	offlineHere := IsOffline(root, args)
	if !offlineHere || command.Annotations[folderUse] == ownFolder {
		if err := backup.CheckOwner(dataDir); err != nil {
			return err
		}
	}
	if offlineHere || slices.Contains(makers, command.CommandPath()) || command.Parent() != nil && slices.Contains(makers, command.Parent().CommandPath()) {
		return nil
	}
	if _, err := os.Stat(filepath.Join(dataDir, "data.db")); errors.Is(err, fs.ErrNotExist) {
		if err := replica.CheckFolder(dataDir); err != nil {
			return err
		}
		if err := backup.CheckFolder(dataDir); err != nil {
			return err
		}
		return fmt.Errorf("%s is not a data directory: it has no data.db; choose another with --dir, or create one with contactbase serve", dataDir)
	}
	return nil
}

// IsServer reports whether args name a command that serves.
func IsServer(root *cobra.Command, args []string) bool {
	command, _, err := root.Find(args)
	return err == nil && !asksForHelp(args) && (command.Name() == "serve" || command.Name() == DemoName)
}

// IsHelp reports whether args only request help or the version, or name no command.
func IsHelp(root *cobra.Command, args []string) bool {
	_, _, err := root.Find(args)
	return err != nil || asksForHelp(args)
}

// asksForHelp reports whether the arguments request help.
func asksForHelp(args []string) bool {
	return slices.ContainsFunc(args, func(arg string) bool { return slices.Contains([]string{"--help", "-h", "--version", "-v"}, arg) })
}
