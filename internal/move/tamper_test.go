package move_test

import (
	"bytes"
	"compress/gzip"
	"database/sql"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"filippo.io/age"
	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/move"
	"contactbase/internal/sqlite"
	"contactbase/internal/testenv"
	"contactbase/internal/testkit"
)

// unsealed returns the database of an archive.
func unsealed(t testing.TB, archive []byte) []byte {
	t.Helper()
	identity, err := age.NewScryptIdentity(passphrase)
	if err != nil {
		t.Fatal(err)
	}
	decrypted, err := age.Decrypt(bytes.NewReader(archive), identity)
	if err != nil {
		t.Fatal(err)
	}
	decompressed, err := gzip.NewReader(decrypted)
	if err != nil {
		t.Fatal(err)
	}
	database, err := io.ReadAll(decompressed)
	if err != nil {
		t.Fatal(err)
	}
	return database
}

// sealed returns an archive of a database, followed by extra bytes in the compressed stream, as someone with the
// passphrase could write it.
func sealed(t testing.TB, database, behind []byte) []byte {
	t.Helper()
	recipient, err := age.NewScryptRecipient(passphrase)
	if err != nil {
		t.Fatal(err)
	}
	recipient.SetWorkFactor(workFactor)
	var archive bytes.Buffer
	encrypted, err := age.Encrypt(&archive, recipient)
	if err != nil {
		t.Fatal(err)
	}
	compressed := gzip.NewWriter(encrypted)
	for _, write := range []func() error{
		func() error { _, err := compressed.Write(database); return err }, compressed.Close,
		func() error { _, err := encrypted.Write(behind); return err }, encrypted.Close,
	} {
		if err := write(); err != nil {
			t.Fatal(err)
		}
	}
	return archive.Bytes()
}

// tampered returns an archive whose database was changed by statements, with the right passphrase.
func tampered(t *testing.T, archive []byte, statements string) []byte {
	t.Helper()
	file := filepath.Join(t.TempDir(), "archive.db")
	if err := os.WriteFile(file, unsealed(t, archive), 0o600); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", file+"?_pragma=writable_schema(1)&_defensive=0")
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	if _, err := db.ExecContext(t.Context(), statements); err != nil {
		t.Fatalf("%s: %v", statements, err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	changed, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return sealed(t, changed, nil)
}

// dump returns everything that an installation stores, by table, and the names of its files.
func dump(t *testing.T, app core.App) map[string]string {
	t.Helper()
	names, err := sqlite.Values[string](sqlite.Direct(app.ConcurrentDB()), "SELECT name FROM sqlite_schema WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, name := range names {
		all[name] = rowsOf(t, app, "SELECT * FROM `"+name+"` WHERE ? = ''", "")
	}
	entries, err := os.ReadDir(app.DataDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if !strings.HasSuffix(entry.Name(), "-wal") && !strings.HasSuffix(entry.Name(), "-shm") {
			all["the files"] += entry.Name() + " "
		}
	}
	return all
}

func unchanged(t *testing.T, app core.App, before map[string]string) {
	t.Helper()
	for name, after := range dump(t, app) {
		if after != before[name] {
			t.Errorf("%s:\n%.2000s\nbefore:\n%.2000s", name, after, before[name])
		}
	}
}

// Without the passphrase, no byte of an archive can be changed, removed or added.
func TestEveryByteCounts(t *testing.T) {
	t.Parallel()
	s := newSource(t, 2)
	s.freeze(t)
	s.workFactor = 2 // thousands of keys are derived
	archive, target := s.export(t), newTarget(t)
	before := dump(t, target)
	refused := func(what string, changed []byte) {
		t.Helper()
		if err := importInto(t.Context(), t, target, changed, nil); err == nil {
			t.Fatalf("%s: it is imported", what)
		}
	}
	for at := range archive {
		if at > 500 && at%testenv.Count(5, 1) > 0 { // behind the header, which has the passphrase's key
			continue
		}
		changed := bytes.Clone(archive)
		changed[at] ^= 1 << (at % 8)
		refused(fmt.Sprint("another byte ", at), changed)
		refused(fmt.Sprint("cut off at ", at), archive[:at])
		if at%50 == 0 {
			refused(fmt.Sprint("a byte less at ", at), slices.Delete(bytes.Clone(archive), at, at+1))
			refused(fmt.Sprint("a byte more at ", at), slices.Insert(bytes.Clone(archive), at, 0))
		}
	}
	for _, more := range [][]byte{{0}, {'a'}, {'\n'}, make([]byte, 100_000), archive} {
		refused(fmt.Sprint(len(more), " bytes behind it"), append(bytes.Clone(archive), more...))
		refused(fmt.Sprint(len(more), " bytes behind its database"), sealed(t, unsealed(t, archive), more))
	}
	refused("bytes in front", append([]byte("\n"), archive...))
	unchanged(t, target, before)
	if err := importInto(t.Context(), t, target, archive, nil); err != nil {
		t.Error(err)
	}
	t.Logf("%d bytes", len(archive))
}

// An archive does not open private addresses to members: it may claim that their webhooks are the operator's.
func TestWebhooksOfAnAlteredArchive(t *testing.T) {
	t.Parallel()
	s := newSource(t, 3)
	testkit.Execute(t, s.app, "UPDATE webhooks SET memberOwned = 1", nil)
	s.freeze(t)
	archive := s.export(t)
	const cleared = "UPDATE webhooks SET memberOwned = 0"
	for name, tc := range map[string]struct {
		changes          string
		trusted, private bool // private says whether the webhook may reach private addresses
	}{
		"unchanged":       {"", true, false},
		"altered":         {cleared, false, false},
		"trusted":         {cleared, true, true},
		"without members": {cleared + "; DELETE FROM tenant_members", false, true},
	} {
		target := newTarget(t)
		err := importInto(t.Context(), t, target, tampered(t, archive, tc.changes), func(g *move.Target) { g.Trusted = tc.trusted })
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if n := testkit.Count(t, target, "SELECT memberOwned FROM webhooks WHERE tenant = {:tenant}", dbx.Params{"tenant": s.tenant}); (n == 0) != tc.private {
			t.Errorf("%s: memberOwned is %d", name, n)
		}
	}
}
