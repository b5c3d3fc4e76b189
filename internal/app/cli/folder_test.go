package cli

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"contactbase/cmd"
	"contactbase/internal/replica"
)

// A standby that has not restored anything yet has no database, but is a data directory.
func TestCheckFolderOfAStandby(t *testing.T) {
	t.Parallel()
	dataDir := t.TempDir()
	standby := filepath.Join(dataDir, ".contactbase_replica", "standby")
	if err := os.Mkdir(filepath.Dir(standby), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(standby, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := checkFolder(&cobra.Command{Use: "backup"}, []string{"backup"}, dataDir); !errors.Is(err, replica.ErrStandby) {
		t.Errorf("a command on a standby: %v", err)
	}
}

// An import without its archive fails before it creates a data directory.
func TestCheckArchive(t *testing.T) {
	t.Parallel()
	root, group := &cobra.Command{Use: "contactbase"}, &cobra.Command{Use: "tenant"}
	command := &cobra.Command{Use: "import FILE", Run: func(*cobra.Command, []string) {}}
	command.Flags().String("dir", "", "")
	root.AddCommand(group)
	group.AddCommand(command)
	missing := filepath.Join(t.TempDir(), "missing.age")
	if err := checkArchive(command, []string{"--dir", "new", missing}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing archive: %v", err)
	}
	if err := os.WriteFile(missing, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := checkArchive(command, []string{"--dir", "new", missing}); err != nil {
		t.Errorf("an archive: %v", err)
	}
}

// An unknown command of a group is reported as such, whatever its flags.
func TestFindUnknownCommand(t *testing.T) {
	t.Parallel()
	root := &cobra.Command{Use: "contactbase"}
	root.AddCommand(cmd.NewKeyCommand(nil))
	_, _, err := find(root, []string{"key", "update", "id", "--url", "x"})
	if err == nil || !strings.Contains(err.Error(), `contactbase key has no command "update"`) {
		t.Errorf("an unknown command with a flag: %v", err)
	}
	for _, args := range [][]string{{"key"}, {"key", "list"}, {"key", "--help"}, {"key", "create", "Acme", "--name", "x"}} {
		if _, _, err := find(root, args); err != nil {
			t.Errorf("%q: %v", args, err)
		}
	}
}
