package cli

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/spf13/cobra"

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
