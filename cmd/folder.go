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
	// folderUse is the annotation that says what a command needs of the data directory; without one it needs a directory with
	// databases, unless it is offline.
	folderUse = "folder"
	ownFolder = "own" // it must be the user's own, and may be empty
)

// makers are the commands that make a data directory where there is none.
var makers = []string{"contactbase serve", "contactbase " + DemoName, "contactbase superuser", "contactbase tenant create", "contactbase tenant import"}

// CheckFolder returns an error where the command that the arguments name would make a data directory although it only works on
// one, or would do as root what locks out the owner of the directory.
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
			return err // it was one
		}
		return fmt.Errorf("%s is not a data directory: it has no data.db; --dir names another one, and contactbase serve makes a new one", dataDir)
	}
	return nil
}

// IsServer reports whether args name a command that serves.
func IsServer(root *cobra.Command, args []string) bool {
	command, _, err := root.Find(args)
	return err == nil && !asksForHelp(args) && (command.Name() == "serve" || command.Name() == DemoName)
}

// IsHelp reports whether args only ask for help or the version, or name no command.
func IsHelp(root *cobra.Command, args []string) bool {
	_, _, err := root.Find(args)
	return err != nil || asksForHelp(args)
}

// asksForHelp reports whether the arguments ask what a command does.
func asksForHelp(args []string) bool {
	return slices.ContainsFunc(args, func(arg string) bool { return slices.Contains([]string{"--help", "-h", "--version", "-v"}, arg) })
}
