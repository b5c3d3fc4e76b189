package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A data directory that has backups but no database starts as a new one, and says so with the command that restores
// the newest backup.
func TestNewDirectoryWithBackups(t *testing.T) {
	t.Parallel()
	for _, log := range []string{"text", "json"} {
		i := newInstallation(t)
		if got := i.run("tenant", "create", "Lost"); got.code != 0 || got.stderr != "" {
			t.Fatalf("a new directory without backups: %+v", got)
		}
		i.must("backup")
		i.must("backup")
		backups := filepath.Join(i.data, "backups")
		made, err := filepath.Glob(filepath.Join(backups, "*.zip"))
		if err != nil || len(made) != 2 {
			t.Fatalf("there are the backups %v (%v)", made, err)
		}
		old := time.Now().Add(-time.Hour)
		if err := os.Chtimes(made[1], old, old); err != nil {
			t.Fatal(err)
		}
		kept := filepath.Join(t.TempDir(), "backups")
		for _, err := range []error{os.Rename(backups, kept), os.RemoveAll(i.data), os.Mkdir(i.data, 0o700), os.Rename(kept, backups)} {
			if err != nil {
				t.Fatal(err)
			}
		}
		s := i.serve("--log", log)
		s.end()
		command := fmt.Sprintf("restore %s --dir %s", made[0], i.data)
		output, isLogged := s.output.String(), false
		for line := range strings.Lines(output) {
			var entry struct {
				Level, Restore string
				Backups        int
			}
			isLogged = isLogged || json.Unmarshal([]byte(line), &entry) == nil && entry.Level == "WARN" && entry.Backups == 2 &&
				strings.HasSuffix(entry.Restore, command) ||
				strings.Contains(line, "level=WARN") && strings.Contains(line, " backups=2 ") && strings.Contains(line, command)
		}
		if isPrinted := strings.Contains(output, "is new, but there are 2 backups in "+backups); isPrinted != (log == "text") || !isLogged {
			t.Errorf("with --log %s, it prints and logs %s", log, output)
		}
		if output := i.serve().output.String(); strings.Contains(output, "is new") {
			t.Errorf("once it is not new, it prints %s", output)
		}
	}
	i := newInstallation(t)
	if err := os.MkdirAll(filepath.Join(i.data, "backups"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(i.data, "backups", "a.zip"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := i.run("tenant", "create", "Acme"); got.code != 0 || !strings.Contains(got.stderr, "but there is a backup in ") {
		t.Errorf("another command that creates the database exits with %d and prints %q", got.code, got.stderr)
	}
}

// A server says that its data directory is new, and only at its first start.
func TestNewDirectory(t *testing.T) {
	t.Parallel()
	for log, says := range map[string]string{"text": "The data directory %s is new.\n", "json": `"the data directory is new","data":"%s"`} {
		i := newInstallation(t)
		s := i.serve("--log", log)
		s.end()
		if want := fmt.Sprintf(says, i.data); strings.Count(s.output.String(), want) != 1 {
			t.Errorf("with --log %s, it prints %s, not %s", log, s.output.String(), want)
		}
		s = i.serve("--log", log)
		s.end()
		if strings.Contains(s.output.String(), "is new") {
			t.Errorf("once it is not new, it prints %s", s.output.String())
		}
	}
}
