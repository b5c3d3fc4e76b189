package cmd

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/pocketbase/pocketbase/core"
	"github.com/spf13/cobra"

	"contactbase/internal/backup"
)

// Unrestored describes the backups in a new data directory, which has none of their data.
type Unrestored struct {
	Count   int
	Notice  string // for people, with the number of the backups and the command
	Command string // that restores the newest one
}

// unrestoredKey is the key of the *Unrestored in the store of an app that serves.
const unrestoredKey = "contactbaseUnrestored"

// Show prints the notice, or lets the server do so when it starts.
func (u *Unrestored) Show(app core.App, command *cobra.Command) {
	if command.Name() == "serve" {
		app.Store().Set(unrestoredKey, u)
		return
	}
	fmt.Fprintln(command.ErrOrStderr(), u.Notice)
}

// newFolderKey is the key in the store of an app that serves a data directory that had no database.
const newFolderKey = "contactbaseNewFolder"

// NoteNewFolder lets the server say when it starts that its data directory is new, if that has no database yet.
func NoteNewFolder(app core.App) {
	if _, err := os.Stat(filepath.Join(app.DataDir(), "data.db")); os.IsNotExist(err) {
		app.Store().Set(newFolderKey, true)
	}
}

// FindUnrestored returns what to say about the backups in a new data directory, nil if it is not new or has none.
func FindUnrestored(dataDir string) *Unrestored {
	dataDir = absolute(dataDir)
	count, newest := backup.Unrestored(dataDir)
	if count == 0 {
		return nil
	}
	found, some := &Unrestored{Count: count}, "there is a backup"
	if count > 1 {
		some = fmt.Sprintf("there are %d backups", count)
	}
	found.Command = fmt.Sprintf("%s restore %s --dir %s", os.Args[0], newest, dataDir)
	found.Notice = fmt.Sprintf("The data directory %s is new, but %s in %s.\n"+
		"To restore the newest one, stop the server and run: %s", dataDir, some, filepath.Dir(newest), found.Command)
	return found
}
