package backup

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"database/sql"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"contactbase/internal/order"

	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/hook"
)

// backupOf returns an app with one record, and the path of its backup.
func backupOf(t *testing.T, name string) (core.App, string) {
	t.Helper()
	app := newApp(t, filepath.Join(t.TempDir(), "data"))
	save(t, app, name)
	write(t, filepath.Join(app.DataDir(), "storage", "file.txt"), name)
	archive, err := Create(t.Context(), app, "a.zip")
	if err != nil {
		t.Fatalf("making a backup: %v", err)
	}
	return app, archivePath(app, archive)
}

// tree returns the names and contents below a folder.
func tree(t *testing.T, folder string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := fs.WalkDir(os.DirFS(folder), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(os.DirFS(folder), name)
		found[name] = string(content)
		return err
	})
	if err != nil {
		t.Fatalf("reading a folder: %v", err)
	}
	return found
}

func TestRestore(t *testing.T) {
	t.Parallel()
	app, archive := backupOf(t, "backed up")
	save(t, app, "later")
	dir := app.DataDir()
	if _, err := Restore(archive, dir); !errors.Is(err, ErrServed) {
		t.Errorf("restoring into the folder of an open app gave %v", err)
	}
	terminate(t, app)
	write(t, filepath.Join(dir, "storage", "later.txt"), "later")

	kept, err := Restore(archive, dir)
	if err != nil {
		t.Fatalf("restoring: %v", err)
	}
	if !strings.HasPrefix(kept, dir+".before-restore-") {
		t.Errorf("the previous content is in %q", kept)
	}
	wantNoRemains(t, dir)
	restored := newApp(t, dir)
	if got := saved(t, restored); !slices.Equal(got, []string{"backed up"}) {
		t.Errorf("after restoring there is %q", got)
	}
	files := tree(t, filepath.Join(dir, "storage"))
	if len(files) != 1 || files["file.txt"] != "backed up" {
		t.Errorf("after restoring the files are %q", files)
	}
	if _, err := os.Stat(archive); err != nil {
		t.Errorf("the backup in the folder is gone: %v", err)
	}
	if got := saved(t, newApp(t, kept)); !slices.Equal(got, []string{"backed up", "later"}) {
		t.Errorf("the previous content is %q", got)
	}
}

func TestRestoreIntoANewFolder(t *testing.T) {
	t.Parallel()
	_, archive := backupOf(t, "backed up")
	dir := filepath.Join(t.TempDir(), "new", "data")
	kept, err := Restore(archive, dir)
	if err != nil || kept != "" {
		t.Fatalf("restoring gave %q, %v", kept, err)
	}
	entries, err := os.ReadDir(filepath.Dir(dir))
	if err != nil || len(entries) != 1 {
		t.Errorf("beside the folder there is %v, %v", entries, err)
	}
	if got := saved(t, newApp(t, dir)); !slices.Equal(got, []string{"backed up"}) {
		t.Errorf("after restoring there is %q", got)
	}
}

// A data directory may be a mount point, or its parent may belong to someone else. Here its name is so long that no
// other name fits beside it.
func TestRestoreWhereNothingCanStandBeside(t *testing.T) {
	t.Parallel()
	app, archive := backupOf(t, "backed up")
	terminate(t, app)
	dir := filepath.Join(t.TempDir(), strings.Repeat("d", 240))
	terminate(t, newApp(t, dir))
	kept, err := Restore(archive, dir)
	if err != nil || filepath.Dir(kept) != dir {
		t.Fatalf("restoring gave %q, %v", kept, err)
	}
	again, err := Restore(archive, dir)
	if err != nil {
		t.Fatalf("restoring again: %v", err)
	}
	for _, folder := range []string{kept, again} {
		if _, err := os.Stat(filepath.Join(folder, dataFile)); err != nil {
			t.Errorf("the previous content was not kept: %v", err)
		}
	}
	restored := newApp(t, dir)
	if _, err := Create(t.Context(), restored, "b.zip"); err != nil {
		t.Fatalf("making a backup: %v", err)
	}
	names, _ := contents(t, archivePath(restored, "b.zip"))
	if want := []string{auxiliaryFile, dataFile, "storage/file.txt"}; !slices.Equal(names, want) {
		t.Errorf("a backup holds %q instead of %q", names, want)
	}
}

func TestRestoreAfterAnInterruption(t *testing.T) {
	t.Parallel()
	app, archive := backupOf(t, "backed up")
	dir := app.DataDir()
	terminate(t, app)
	// As after a crash: the old database was moved away, part of the new content was moved in.
	if err := os.Rename(filepath.Join(dir, dataFile), filepath.Join(t.TempDir(), dataFile)); err != nil {
		t.Fatalf("moving: %v", err)
	}
	write(t, filepath.Join(dir, stagingName, "storage", "file.txt"), "half")
	if err := writeMarker(filepath.Join(dir, markerName), "/kept"); err != nil {
		t.Fatalf("marking: %v", err)
	}
	if _, err := Lock(dir); !errors.Is(err, ErrInterrupted) {
		t.Errorf("opening the folder gave %v", err)
	}
	kept, err := Restore(archive, dir)
	if err != nil {
		t.Fatalf("restoring again: %v", err)
	}
	if _, err := os.Stat(filepath.Join(kept, auxiliaryFile)); err != nil {
		t.Errorf("what was there was not kept: %v", err)
	}
	wantNoRemains(t, dir)
	if got := saved(t, newApp(t, dir)); !slices.Equal(got, []string{"backed up"}) {
		t.Errorf("after restoring again there is %q", got)
	}
}

// entry is a file of a test archive.
type entry struct {
	name    string
	content []byte
	mode    fs.FileMode
}

func zipped(t *testing.T, entries ...entry) []byte {
	t.Helper()
	var out bytes.Buffer
	archive := zip.NewWriter(&out)
	for _, e := range entries {
		header := &zip.FileHeader{Name: e.name, Method: zip.Deflate}
		header.SetMode(e.mode | 0o600)
		file, err := archive.CreateHeader(header)
		if err != nil {
			t.Fatalf("making an archive: %v", err)
		}
		if _, err := file.Write(e.content); err != nil {
			t.Fatalf("making an archive: %v", err)
		}
	}
	if err := archive.Close(); err != nil {
		t.Fatalf("making an archive: %v", err)
	}
	return out.Bytes()
}

// lying returns an archive whose file claims to have a size.
func lying(t *testing.T, size uint64, content []byte) []byte {
	t.Helper()
	var compressed bytes.Buffer
	deflate, err := flate.NewWriter(&compressed, flate.BestSpeed)
	if err != nil {
		t.Fatalf("compressing: %v", err)
	}
	if _, err := deflate.Write(content); err != nil {
		t.Fatalf("compressing: %v", err)
	}
	if err := deflate.Close(); err != nil {
		t.Fatalf("compressing: %v", err)
	}
	var out bytes.Buffer
	archive := zip.NewWriter(&out)
	file, err := archive.CreateRaw(&zip.FileHeader{
		Name:               "zeros",
		Method:             zip.Deflate,
		CRC32:              crc32.ChecksumIEEE(content),
		CompressedSize64:   uint64(compressed.Len()),
		UncompressedSize64: size,
	})
	if err != nil {
		t.Fatalf("making an archive: %v", err)
	}
	if _, err := file.Write(compressed.Bytes()); err != nil {
		t.Fatalf("making an archive: %v", err)
	}
	if err := archive.Close(); err != nil {
		t.Fatalf("making an archive: %v", err)
	}
	return out.Bytes()
}

// foreign returns a valid database that is not PocketBase's.
func foreign(t *testing.T) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "foreign.db")
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatalf("opening a database: %v", err)
	}
	if _, err := db.Exec("CREATE TABLE things (name TEXT)"); err != nil {
		t.Fatalf("creating a table: %v", err)
	}
	if err := db.Close(); err != nil {
		t.Fatalf("closing a database: %v", err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("reading a database: %v", err)
	}
	return content
}

// unsound returns archives that must be rejected.
func unsound(t *testing.T, sound string) map[string][]byte {
	t.Helper()
	whole, err := os.ReadFile(sound)
	if err != nil {
		t.Fatalf("reading the archive: %v", err)
	}
	_, texts := contents(t, sound)
	data := []byte(texts[dataFile])
	flipped := bytes.Clone(whole)
	for i := len(flipped) / 3; i < len(flipped)/3+64; i++ {
		flipped[i] ^= 0xff
	}
	broken := bytes.Clone(data)
	for i := len(broken) / 4; i < len(broken)/2; i++ {
		broken[i] = 0xa5
	}
	database := entry{name: dataFile, content: data}
	link := entry{name: "storage", content: []byte("/etc"), mode: fs.ModeSymlink}
	return map[string][]byte{
		"empty":                 {},
		"text":                  []byte("no archive"),
		"cut":                   whole[:len(whole)/2],
		"flipped bits":          flipped,
		"no database":           zipped(t, entry{name: "other.txt"}),
		"database in folder":    zipped(t, entry{name: "pb_data/data.db", content: data}),
		"empty database":        zipped(t, entry{name: dataFile}),
		"text as database":      zipped(t, entry{name: dataFile, content: []byte("no database")}),
		"broken database":       zipped(t, entry{name: dataFile, content: broken}),
		"foreign database":      zipped(t, entry{name: dataFile, content: foreign(t)}),
		"broken auxiliary":      zipped(t, database, entry{name: auxiliaryFile, content: broken}),
		"path upwards":          zipped(t, database, entry{name: "../evil.txt", content: []byte("evil")}),
		"path inside":           zipped(t, database, entry{name: "storage/../../evil.txt", content: []byte("evil")}),
		"absolute path":         zipped(t, database, entry{name: "/evil.txt", content: []byte("evil")}),
		"windows path":          zipped(t, database, entry{name: `..\evil.txt`, content: []byte("evil")}),
		"link":                  zipped(t, database, link),
		"file through a link":   zipped(t, database, link, entry{name: "storage/evil.txt", content: []byte("evil")}),
		"twice":                 zipped(t, database, database),
		"bomb":                  lying(t, 1<<40, make([]byte, 1000)),
		"larger than declared":  lying(t, 10, make([]byte, 1<<20)),
		"smaller than declared": lying(t, 1<<20, make([]byte, 10)),
	}
}

func TestRestoreRefusesUnsoundArchives(t *testing.T) {
	t.Parallel()
	app, archive := backupOf(t, "here")
	terminate(t, app)
	archives := unsound(t, archive)
	before := tree(t, filepath.Dir(app.DataDir()))
	for name, content := range archives {
		path := filepath.Join(t.TempDir(), "unsound.zip")
		write(t, path, string(content))
		if kept, err := Restore(path, app.DataDir()); !errors.Is(err, ErrInvalid) || kept != "" {
			t.Errorf("%s: %q, %v", name, kept, err)
		}
	}
	if _, err := Restore(filepath.Join(t.TempDir(), "missing.zip"), app.DataDir()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing archive gave %v", err)
	}
	if after := tree(t, filepath.Dir(app.DataDir())); fmt.Sprint(after) != fmt.Sprint(before) {
		t.Error("a refused archive changed the folder")
	}
	if got := saved(t, newApp(t, app.DataDir())); !slices.Equal(got, []string{"here"}) {
		t.Errorf("there is %q", got)
	}
}

// TestPocketBaseRestore runs the dashboard's restore, which restarts the process once it accepts the archive. The
// test stops before that.
func TestPocketBaseRestore(t *testing.T) {
	t.Parallel()
	app, archive := backupOf(t, "here")
	save(t, app, "later")
	stop := errors.New("no restart in a test")
	restarts := 0
	app.OnTerminate().BindFunc(func(e *core.TerminateEvent) error {
		if !e.IsRestart {
			return e.Next()
		}
		restarts++
		release, err := Lock(app.DataDir())
		if err != nil {
			t.Errorf("the next start would find %v", err)
		} else {
			release()
		}
		if _, err := os.Stat(filepath.Join(app.DataDir(), lockName)); err != nil {
			t.Errorf("the lock was moved away: %v", err)
		}
		return stop
	})
	app.OnTerminate().Bind(&hook.Handler[*core.TerminateEvent]{
		Func: func(e *core.TerminateEvent) error {
			if e.IsRestart {
				if _, err := Lock(app.DataDir()); !errors.Is(err, ErrInterrupted) {
					t.Errorf("while PocketBase restores, others get %v", err)
				}
			}
			return e.Next()
		},
		Priority: order.SocketHandedOver,
	})
	for name, content := range unsound(t, archive) {
		write(t, archivePath(app, "unsound.zip"), string(content))
		if err := app.RestoreBackup(t.Context(), "unsound.zip"); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := app.RestoreBackup(t.Context(), "missing.zip"); err == nil {
		t.Error("a missing backup was restored")
	}
	if restarts != 0 {
		t.Errorf("the process would have restarted %d times", restarts)
	}
	wantNoRemains(t, app.DataDir())
	if err := app.RestoreBackup(t.Context(), filepath.Base(archive)); !errors.Is(err, stop) || restarts != 1 {
		t.Errorf("restoring a sound backup gave %v, and %d restarts", err, restarts)
	}
	wantNoRemains(t, app.DataDir())
	if got := saved(t, app); !slices.Equal(got, []string{"here", "later"}) {
		t.Errorf("after the restart failed there is %q", got)
	}
}
