package cmd

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"contactbase/internal/testkit"
)

// Where the refused rows cannot be written, nothing is imported, and the file that is imported stays as it is.
func TestImportChecksWhereTheRefusedRowsGo(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	testkit.Tenant(t, app, "Acme")
	folder := t.TempDir()
	file := filepath.Join(folder, "contacts.csv")
	const sheet = "name,email\nAda,ada@example.com\nBob,nonsense\n"
	if err := os.WriteFile(file, []byte(sheet), 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(folder, "link.csv")
	if err := os.Symlink(file, link); err != nil {
		t.Fatal(err)
	}
	for _, refused := range []string{file, link, filepath.Join(folder, "nowhere", "refused.csv"), folder} {
		command := NewContactCommand(app)
		command.SetArgs([]string{"import", "Acme", file, "--refused", refused})
		command.SetOut(io.Discard)
		command.SetErr(io.Discard)
		if err := command.Execute(); err == nil || !strings.HasPrefix(err.Error(), "--refused: ") {
			t.Errorf("the refused rows to %s: %v", refused, err)
		}
	}
	if content, err := os.ReadFile(file); string(content) != sheet {
		t.Errorf("the file that was imported is %q, %v", content, err)
	}
	if count, err := app.CountRecords("contacts"); err != nil || count != 0 {
		t.Errorf("%d contacts are there, %v", count, err)
	}
}

func TestExportTakesFiltersWithValues(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	testkit.Tenant(t, app, "Acme")
	command := NewContactCommand(app)
	command.SetArgs([]string{"export", "Acme", "-", "--filter", "q"})
	command.SetOut(io.Discard)
	command.SetErr(io.Discard)
	if err := command.Execute(); err == nil || !strings.Contains(err.Error(), "--filter takes a name and a value") {
		t.Errorf("a filter without a value: %v", err)
	}
}
