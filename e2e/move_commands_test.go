package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"contactbase/internal/testenv"
)

// passphraseFile returns a file with a passphrase.
func passphraseFile(t *testing.T, passphrase string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "passphrase")
	if err := os.WriteFile(file, []byte(passphrase+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return "--passphraseFile=" + file
}

// refuses runs a command that must fail with that text.
func (i *installation) refuses(words string, args ...string) {
	i.t.Helper()
	if got := i.run(args...); got.code != 1 || got.stdout != "" || !strings.Contains(got.stderr, words) {
		i.t.Errorf("%v exits with %d: %s%s, without %q", args, got.code, got.stdout, got.stderr, words)
	}
}

// filled returns an installation with a tenant of that many contacts, the name of a file, and the argument
// with a passphrase.
func filled(t *testing.T, contacts int) (i *installation, tenant, archive, passphrase string) {
	t.Helper()
	i, folder := newInstallation(t), t.TempDir()
	tenant = str(t, i.one("tenant", "create", "Acme"), "id")
	i.must("key", "create", tenant)
	i.must("webhook", "create", tenant, nowhere)
	sheet := filepath.Join(folder, "contacts.csv")
	if err := os.WriteFile(sheet, []byte(sheetOf(contacts)), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := i.run("contact", "import", tenant, sheet, "--column", "Nachname=name"); got.code > 1 { // it may refuse rows
		t.Fatal(got)
	}
	return i, tenant, filepath.Join(folder, "acme.age"), passphraseFile(t, "a long passphrase")
}

// exported is filled, and exports the tenant to the file.
func exported(t *testing.T, contacts int) (i *installation, tenant, archive, passphrase string) {
	t.Helper()
	i, tenant, archive, passphrase = filled(t, contacts)
	i.refuses("--freeze", "tenant", "export", "Acme", archive, passphrase)
	if got := i.run("tenant", "export", "Acme", archive, passphrase, "--freeze"); got.code != 0 {
		t.Fatal(got)
	}
	return i, tenant, archive, passphrase
}

// Commands that fail explain the error and change nothing.
func TestMoveCommands(t *testing.T) {
	t.Parallel()
	a, tenant, archive, passphrase := exported(t, 200)
	a.refuses("already exists", "tenant", "export", "Acme", archive, passphrase)
	a.refuses("12 characters", "tenant", "export", "Acme", archive+"2", passphraseFile(t, "short"))
	a.refuses("without a terminal", "tenant", "export", "Acme", archive+"2")
	a.refuses("is closed for writes", "key", "create", tenant)
	a.refuses("is closed for writes", "webhook", "create", tenant, nowhere)
	a.refuses("already exists in this installation", "tenant", "import", archive, passphrase)
	if got := a.many("tenant", "list"); got[0]["state"] != "frozen" {
		t.Errorf("the list has %v", got)
	}
	b := newInstallation(t)
	b.must("tenant", "create", "Resident")
	b.refuses("does not open this archive", "tenant", "import", archive, passphraseFile(t, "another passphrase"))
	whole, err := os.ReadFile(archive)
	if err != nil {
		t.Fatal(err)
	}
	changed := filepath.Join(t.TempDir(), "changed.age")
	for n, other := range [][]byte{whole[:len(whole)-100], append(slices.Clone(whole), 'a')} {
		if n > 0 && !testenv.All() { // each derives the key from the passphrase, which takes a second
			break
		}
		if err := os.WriteFile(changed, other, 0o600); err != nil {
			t.Fatal(err)
		}
		b.refuses("is damaged", "tenant", "import", changed, passphrase)
		if testenv.All() {
			b.refuses("is damaged", "tenant", "import", changed, passphrase, "--resume")
		}
	}
	b.refuses("minFreeDisk", "tenant", "import", archive, passphrase, "--minFreeDisk=1000000000")
	if got := b.many("tenant", "list"); len(got) != 1 {
		t.Errorf("the list has %v", got)
	}
	// which prints its progress where it takes long
	got := b.run("tenant", "import", archive, passphrase, "--frozen", "--json")
	if got.code != 0 {
		t.Fatal(got)
	}
	said := parse[map[string]any](t, got.stdout)
	if said["state"] != "frozen" || said["contacts"] != 198.0 || said["events"] != 198.0 || said["deliveries"] != 198.0 || said["keys"] != 1.0 {
		t.Errorf("the import did %v", said)
	}
	b.refuses("is closed for writes", "key", "create", tenant)
	if got := b.one("tenant", "unfreeze", tenant); got["state"] != "open" {
		t.Errorf("it is %v", got)
	}
	b.must("key", "create", tenant)
	if info, err := os.Stat(archive); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the archive is %v, %v", info, err)
	}
	if got := newInstallation(t).run("tenant", "import", archive, passphrase); got.code != 0 { // which makes the folder
		t.Error(got)
	}
}
