package cmd

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/replica"
)

// A standby that has not restored anything yet has no database, but is a data directory.
func TestDoctorOfAStandby(t *testing.T) {
	t.Parallel()
	dataDir := t.TempDir()
	standby := filepath.Join(dataDir, ".contactbase_replica", "standby")
	if err := os.Mkdir(filepath.Dir(standby), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(standby, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	doctor := NewDoctorCommand(core.NewBaseApp(core.BaseAppConfig{DataDir: dataDir}))
	doctor.SetArgs(nil)
	doctor.SetOut(io.Discard)
	doctor.SetErr(io.Discard)
	if err := doctor.Execute(); !errors.Is(err, replica.ErrStandby) {
		t.Errorf("the doctor on a standby: %v", err)
	}
}
