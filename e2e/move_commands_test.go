package e2e

import (
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"
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

// refuses runs a command that has to fail with the words.
func (i *installation) refuses(words string, args ...string) {
	i.t.Helper()
	if got := i.run(args...); got.code != 1 || got.stdout != "" || !strings.Contains(got.stderr, words) {
		i.t.Errorf("%v exits with %d: %s%s, without %q", args, got.code, got.stdout, got.stderr, words)
	}
}

// exported returns an installation with a tenant of so many contacts, its archive, and the argument with the passphrase.
func exported(t *testing.T, contacts int) (i *installation, tenant, archive, passphrase string) {
	t.Helper()
	i, folder := newInstallation(t), t.TempDir()
	tenant = str(t, i.one("tenant", "create", "Acme"), "id")
	i.must("key", "create", tenant)
	i.must("webhook", "create", tenant, nowhere)
	sheet := filepath.Join(folder, "contacts.csv")
	if err := os.WriteFile(sheet, []byte(sheetOf(contacts)), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := i.run("contact", "import", tenant, sheet, "--column", "Nachname=name"); got.code != 0 {
		t.Fatal(got)
	}
	archive, passphrase = filepath.Join(folder, "acme.zip"), passphraseFile(t, "a long passphrase")
	i.refuses("--freeze", "tenant", "export", "Acme", archive, passphrase)
	if got := i.run("tenant", "export", "Acme", archive, passphrase, "--freeze"); got.code != 0 {
		t.Fatal(got)
	}
	return i, tenant, archive, passphrase
}

// A kill leaves an import that goes on, with everything once, or that is deleted.
func TestMoveSurvivesKills(t *testing.T) {
	t.Parallel()
	const contacts = 20_000
	a, tenant, archive, passphrase := exported(t, contacts)
	b := newInstallation(t)
	b.must("tenant", "create", "Resident")
	s, db := b.serve(), openData(t, b.data)
	kill := func(more ...string) {
		t.Helper()
		const place = "SELECT coalesce(max(100000000 * step + row), 0) FROM _moves"
		before := count(t, db, place)
		p := launch(t, b.command(t.Context(), append([]string{"tenant", "import", archive, passphrase, "--dir=" + b.data}, more...)...))
		await(t, "more of the import", func() bool { return count(t, db, place) > before+2_000 })
		p.kill()
		if count(t, db, place) == 0 {
			t.Fatalf("it was too fast: %s", p.output)
		}
	}
	kill()
	b.refuses("--resume", "tenant", "import", archive, passphrase)
	b.refuses("has not arrived", "tenant", "unfreeze", tenant)
	b.must("tenant", "delete", tenant, "--yes")
	kill()
	kill("--resume")
	s.kill()
	s = s.again()
	kill("--resume")
	if got := b.run("tenant", "import", archive, passphrase, "--resume"); got.code != 0 {
		t.Fatal(got)
	}
	sameRows(t, openData(t, a.data), db, tenant, contacts-contacts/100)
	if faults := integrity(t, db); len(faults) > 0 {
		t.Error(faults)
	}
	s.stop()
	if got := b.run("doctor"); got.code != 0 {
		t.Error(got)
	}
}

// sameRows compares what a tenant has here and there: so many contacts, each with an event and a delivery.
func sameRows(t *testing.T, there, here *sql.DB, tenant string, want int) {
	t.Helper()
	for _, query := range []string{
		"SELECT id || name || email || externalId || created || updated FROM contacts WHERE tenant = '" + tenant + "' ORDER BY id",
		"SELECT contact || text FROM _contactSearch WHERE tenant = '" + tenant + "' ORDER BY seq",
		"SELECT id || payload FROM events WHERE tenant = '" + tenant + "' ORDER BY rowid",
		"SELECT id || event || webhook FROM deliveries WHERE tenant = '" + tenant + "' ORDER BY rowid",
	} {
		before, after := column(t, there, query), column(t, here, query)
		if len(after) != want || strings.Join(before, "\n") != strings.Join(after, "\n") {
			t.Errorf("%s gives %d rows and not the same %d", query, len(after), len(before))
		}
	}
}

// The commands say what is wrong, and change nothing then.
func TestMoveCommands(t *testing.T) {
	t.Parallel()
	a, tenant, archive, passphrase := exported(t, 200)
	a.refuses("is there already", "tenant", "export", "Acme", archive, passphrase)
	a.refuses("12 characters", "tenant", "export", "Acme", archive+"2", passphraseFile(t, "short"))
	a.refuses("no terminal", "tenant", "export", "Acme", archive+"2")
	a.refuses("is closed for writes", "key", "create", tenant)
	a.refuses("is closed for writes", "webhook", "create", tenant, nowhere)
	a.refuses("is here already", "tenant", "import", archive, passphrase)
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
	cut := filepath.Join(t.TempDir(), "cut.zip")
	if err := os.WriteFile(cut, whole[:len(whole)-100], 0o600); err != nil {
		t.Fatal(err)
	}
	b.refuses("is damaged", "tenant", "import", cut, passphrase)
	if got := b.many("tenant", "list"); len(got) != 1 {
		t.Errorf("the list has %v", got)
	}
	said := b.one("tenant", "import", archive, passphrase, "--frozen")
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
	newInstallation(t).must("tenant", "import", archive, passphrase) // which makes the folder
}
