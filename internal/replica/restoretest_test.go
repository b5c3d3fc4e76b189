package replica_test

import (
	"bytes"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/superfly/ltx"

	"contactbase/internal/testkit"
)

// A replica that is intact but has other data fails the restore test.
func TestRestoreTestCompares(t *testing.T) {
	t.Parallel()
	_, _, r, location := replicated(t)
	if note, err := r.TestRestore(t.Context()); err != nil || note.Error != "" {
		t.Fatalf("a correct replica: %+v (%v)", note, err)
	}
	other := testkit.NewApp(t)
	testkit.Tenant(t, other, "Acme")
	testkit.Tenant(t, other, "Beta")
	copied := filepath.Join(t.TempDir(), "other.db")
	testkit.Execute(t, other, "VACUUM INTO '"+copied+"'", nil)
	replaceDatabase(t, filepath.Join(location, "1", "data.db", "ltx"), copied)
	note, err := r.TestRestore(t.Context())
	if err != nil || !strings.Contains(note.Error, "tenants has 1 rows here and 2 there") {
		t.Errorf("a replica with other data: %+v (%v)", note, err)
	}
}

// A replica with the right number of rows but a corrupt index fails the restore test.
func TestRestoreTestChecks(t *testing.T) {
	t.Parallel()
	app, tenant, r, location := replicated(t)
	testkit.AddContact(t, app, tenant, "contact00000001")
	acknowledged(t, r)
	copied := filepath.Join(t.TempDir(), "copied.db")
	testkit.Execute(t, app, "VACUUM INTO '"+copied+"'", nil)
	pages, err := os.ReadFile(copied)
	if err != nil {
		t.Fatal(err)
	}
	pages[bytes.LastIndex(pages, []byte(tenant))] ^= 1 // in the table, or in one index
	if err := os.WriteFile(copied, pages, 0o600); err != nil {
		t.Fatal(err)
	}
	replaceDatabase(t, filepath.Join(location, "1", "data.db", "ltx"), copied)
	note, err := r.TestRestore(t.Context())
	if err != nil || !strings.Contains(note.Error, "the restored data.db is damaged") {
		t.Errorf("a replica with a corrupt index: %+v (%v)", note, err)
	}
}

// A restore test waits until the store has both databases.
func TestRestoreTestWaitsForBoth(t *testing.T) {
	t.Parallel()
	store := newStore(t)
	reached, release := store.Hold(func(request *http.Request) bool {
		return request.Method == http.MethodPut && strings.Contains(request.URL.Path, "/auxiliary.db/")
	})
	defer release()
	r, _ := start(t, config(store.URL("x")), testkit.NewApp(t))
	acknowledged(t, r)
	<-reached
	ended := make(chan error, 1)
	go func() {
		note, err := r.TestRestore(t.Context())
		if note.Error != "" {
			err = errors.New(note.Error)
		}
		ended <- err
	}()
	select {
	case err := <-ended:
		t.Fatalf("it did not wait: %v", err)
	case <-time.After(500 * time.Millisecond):
	}
	release()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// replace replaces the files of a database in the store by those of another one, after the same transaction. It keeps
// the directories, because the replica may be uploading the next file. It waits for the first snapshot, which would
// otherwise replace this one.
func replaceDatabase(t *testing.T, folder, database string) {
	t.Helper()
	snapshots := filepath.Join(folder, "9")
	testkit.Eventually(t, "the first snapshot", func() bool {
		taken, err := filepath.Glob(filepath.Join(snapshots, "*.ltx"))
		return err == nil && len(taken) > 0
	})
	var last ltx.TXID
	var replaced []string
	err := filepath.WalkDir(folder, func(path string, _ os.DirEntry, err error) error {
		if _, to, parseErr := ltx.ParseFilename(filepath.Base(path)); parseErr == nil {
			last, replaced = max(last, to), append(replaced, path)
		}
		return err
	})
	for _, path := range replaced {
		err = errors.Join(err, os.Remove(path))
	}
	if err != nil {
		t.Fatal(err)
	}
	pages, err := os.ReadFile(database)
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.Create(filepath.Join(snapshots, ltx.FormatFilename(1, last)))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(encode(file, pages, last), file.Close()); err != nil {
		t.Fatal(err)
	}
}

// encode writes a snapshot of a database after a transaction.
func encode(to *os.File, pages []byte, last ltx.TXID) error {
	const pageSize = 4096
	encoder, err := ltx.NewEncoder(to)
	if err != nil {
		return err
	}
	count := uint32(len(pages) / pageSize) //nolint:gosec // of a small database
	header := ltx.Header{
		Version: ltx.Version, Flags: ltx.HeaderFlagNoChecksum, PageSize: pageSize, Commit: count, MinTXID: 1, MaxTXID: last,
		Timestamp: time.Now().UnixMilli(),
	}
	if err := encoder.EncodeHeader(header); err != nil {
		return err
	}
	for page := range count {
		if err := encoder.EncodePage(ltx.PageHeader{Pgno: page + 1}, pages[page*pageSize:(page+1)*pageSize]); err != nil {
			return err
		}
	}
	return encoder.Close()
}
