package e2e

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A program that is killed while it creates its tables, or migrates those of an older version, repeats that at the
// next start. strace kills it at its nth write to the disk.
func TestCrashInMigrations(t *testing.T) {
	t.Parallel()
	if findTool(t, "strace") == "" {
		t.Skip("the test needs strace")
	}
	whole, older := newInstallation(t).later(), newInstallation(t)
	whole.must("tenant", "create", "Acme")
	older.must("tenant", "create", "Acme")
	wanted := whole.tables()
	if slices.Equal(older.tables(), wanted) {
		t.Fatal("the older folder has the tables of the newer one")
	}
	rounds, killed := crashRounds(t, 3, 10), 0
	for round := range rounds {
		i, isOlder := newInstallation(t).later(), round%3 == 2
		if isOlder {
			copyFolder(t, older.data, i.data)
		}
		if n := 1 + rand.IntN(250); i.killedAtWrite(n) {
			killed++
		}
		if got := i.run("tenant", "create", "After"); got.code != 0 || got.stderr != "" && !isOlder {
			t.Fatalf("after a kill the command exits with %d: %s%s", got.code, got.stdout, got.stderr)
		}
		if backups, err := filepath.Glob(filepath.Join(i.data, "backups", "*.zip")); err != nil || len(backups) != 1 && isOlder {
			t.Errorf("after a kill there are %d backups of the older folder: %v", len(backups), err)
		}
		if got := i.tables(); !slices.Equal(got, wanted) {
			t.Fatalf("round %d: after a kill the tables are\n%s\ninstead of\n%s", round, strings.Join(got, "\n"), strings.Join(wanted, "\n"))
		}
	}
	t.Logf("%d of %d commands were killed", killed, rounds)
	if killed == 0 {
		t.Error("nothing was killed")
	}
}

// killedAtWrite runs a command that opens the data directory, and kills it at a write, unless it ends before.
func (i *installation) killedAtWrite(number int) bool {
	i.t.Helper()
	traced := i.command(i.t.Context(), "tenant", "create", "Before", "--dir="+i.data)
	command := exec.CommandContext(i.t.Context(), "strace", append([]string{"-f", "-o", os.DevNull, "-e", "trace=pwrite64",
		"-e", fmt.Sprintf("inject=pwrite64:signal=KILL:when=%d", number)}, traced.Args...)...)
	command.Dir, command.Env = traced.Dir, traced.Env
	got := finish(i.t, command)
	switch {
	case got.code == 0:
		return false
	case got.code == -1: // strace ends as the program does
		return true
	case strings.Contains(got.stderr, "PTRACE"):
		i.t.Skipf("no program may be traced here: %s", got.stderr)
	}
	i.t.Fatalf("the command exits with %d: %s%s", got.code, got.stdout, got.stderr)
	return false
}

// tables returns the schema and the applied migrations of the databases, which must not be corrupt.
func (i *installation) tables() (all []string) {
	i.t.Helper()
	for _, name := range []string{"data.db", "auxiliary.db"} {
		db := openFile(i.t, filepath.Join(i.data, name))
		if faults := integrity(i.t, db); len(faults) > 0 {
			i.t.Errorf("%s: %v", name, faults)
		}
		all = append(all, column(i.t, db, "SELECT name || ': ' || coalesce(sql, '') FROM sqlite_schema ORDER BY name")...)
		if name == "data.db" {
			all = append(all, column(i.t, db, "SELECT file FROM _migrations ORDER BY file")...)
			all = append(all, column(i.t, db, "SELECT name || ': ' || fields || indexes FROM _collections ORDER BY name")...)
		}
		if err := db.Close(); err != nil {
			i.t.Fatal(err)
		}
	}
	return all
}
