package replica_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"contactbase/internal/testkit"
)

// A machine that was killed while it replaced its databases by the replica repeats that.
func TestInterruptedTakeover(t *testing.T) {
	t.Parallel()
	leased := config(newStore(t).URL("x"))
	leased.Lease = 30 * time.Second
	_, holder := holder(t, leased)
	if err := holder.Stop(); err != nil {
		t.Fatal(err)
	}
	for name, files := range map[string][]string{"before the first file": nil, "before the last file": {"auxiliary.db"}, "behind the last file": {"auxiliary.db", "data.db"}} {
		t.Run(name, func(t *testing.T) { // not in parallel: one machine serves at a time
			folder := t.TempDir()
			write := func(name string, content []byte) {
				t.Helper()
				if err := os.WriteFile(filepath.Join(folder, name), content, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Mkdir(filepath.Join(folder, ".contactbase_replica"), 0o700); err != nil {
				t.Fatal(err)
			}
			known, err := json.Marshal(map[string]any{"folder": "standby", "store": leased.URL, "generation": -1})
			if err != nil {
				t.Fatal(err)
			}
			write(".contactbase_replica/folder.json", known)
			write(".contactbase_replica/standby", known)
			for _, file := range files {
				write(file, []byte("half of a database"))
			}
			standby := open(t, leased, folder)
			if err := standby.RunStandby(t.Context(), t.Logf); err != nil {
				t.Fatal(err)
			}
			restored := testkit.Open(t, folder)
			if err := standby.Start(restored); err != nil {
				t.Fatal(err)
			}
			if count, err := restored.CountRecords("tenants"); err != nil || count != 1 {
				t.Errorf("%d of 1 tenants are there, %v", count, err)
			}
			if err := standby.Acknowledge(t.Context()); err != nil {
				t.Error(err)
			}
			if err := standby.Stop(); err != nil {
				t.Error(err)
			}
		})
	}
}
