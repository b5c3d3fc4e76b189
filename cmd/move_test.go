package cmd

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"contactbase/internal/delivery/store" // nolint:depguard // the app's own store: an export waits for real deliveries
	"contactbase/internal/tenant"
	"contactbase/internal/testkit"
)

// An export that cannot be written, or is interrupted, reports it and leaves the tenant open.
func TestFailedExportLeavesTenantOpen(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	testkit.Tenant(t, app, "Acme")
	folder := t.TempDir()
	passphrase := filepath.Join(folder, "passphrase")
	if err := os.WriteFile(passphrase, []byte("correct horse battery"), 0o600); err != nil {
		t.Fatal(err)
	}
	interrupted, cancel := context.WithCancel(t.Context())
	cancel()
	for _, tc := range []struct {
		ctx  context.Context
		file string
		says string
	}{
		{t.Context(), filepath.Join(folder, "nowhere", "acme.age"), "the directory " + filepath.Join(folder, "nowhere")},
		{interrupted, filepath.Join(folder, "acme.age"), "interrupted: the tenant is unchanged"},
	} {
		command := NewTenantCommand(app, store.New(app), tenant.DefaultBounds, 0)
		command.SetArgs([]string{"export", "Acme", tc.file, "--freeze", "--passphraseFile", passphrase})
		command.SetOut(io.Discard)
		command.SetErr(io.Discard)
		if err := command.ExecuteContext(tc.ctx); err == nil || !strings.HasPrefix(err.Error(), tc.says) {
			t.Errorf("an export to %s: %v", tc.file, err)
		}
		if closed, err := tenant.States(app); err != nil || len(closed) > 0 {
			t.Errorf("tenants are closed: %v, %v", closed, err)
		}
	}
}
