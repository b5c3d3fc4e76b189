package sqlite

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// smallVolume returns a directory with a file system of that many MiB.
func smallVolume(t *testing.T, size int) string {
	t.Helper()
	folder := t.TempDir()
	if err := unix.Mount("tmpfs", folder, "tmpfs", 0, fmt.Sprintf("size=%dm", size)); err != nil {
		t.Skipf("cannot mount a file system, which requires root: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(folder, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return folder
}

// touched returns a database with some rows, and a function that writes a tenth of a MiB to the WAL.
func touched(t *testing.T, folder string) (path string, touch func() error) {
	t.Helper()
	path = filepath.Join(folder, dataFile)
	db, err := Connect(Full)(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	db.DB().SetMaxOpenConns(1)
	mustExec(t, db.DB(), "CREATE TABLE contacts (id INTEGER PRIMARY KEY, content BLOB)")
	for range 25 {
		mustExec(t, db.DB(), "INSERT INTO contacts (content) VALUES (zeroblob(4000))")
	}
	mustExec(t, db.DB(), checkpointSQL) // the file need not grow
	readers, err := Connect(Full)(path) // without which SQLite deletes the WAL with the writer's connection
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = readers.Close() })
	mustExec(t, readers.DB(), "SELECT 1 FROM contacts")
	return path, func() error {
		_, err := db.NewQuery("UPDATE contacts SET content = randomblob(4000)").Execute()
		return err
	}
}

func logSize(t *testing.T, path string) int64 {
	t.Helper()
	info, err := os.Stat(path + "-wal")
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

// The WAL does not fill even a small disk.
func TestWALLeavesFreeSpace(t *testing.T) {
	t.Parallel()
	const size = 48 // MiB, less than the WAL may have elsewhere
	folder := smallVolume(t, size)
	if most := (&writer{folder: folder}).maxWALPages(0) * pageSize; most > size<<20/freeShare {
		t.Errorf("the WAL may have %d MiB", most>>20)
	}
	path, touch := touched(t, folder)
	for n := range 600 { // more than the disk
		if err := touch(); err != nil {
			t.Fatalf("after %d writes, with a WAL of %d MiB: %v", n, logSize(t, path)>>20, err)
		}
	}
}

// On a full disk the WAL is checkpointed and reset, so that rows can be changed. Writes that need space fail, and
// succeed once there is space again.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	const size = 16 // MiB
	folder := smallVolume(t, size)
	path, touch := touched(t, folder)
	for range 10 {
		if err := touch(); err != nil {
			t.Fatal(err)
		}
	}
	ballast := filepath.Join(folder, "ballast")
	fill(t, ballast, size<<20)
	for n := range 100 {
		if err := touch(); err != nil {
			t.Fatalf("change %d on a full disk: %v", n, err)
		}
	}
	db, err := Connect(Full)(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	db.DB().SetMaxOpenConns(1)
	const grow = "INSERT INTO contacts (content) VALUES (zeroblob(8000000))"
	if _, err := db.NewQuery(grow).Execute(); !IsUnavailable(err) {
		t.Errorf("a write that needs space: %v", err)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	if err := touch(); err != nil {
		t.Errorf("once there is space: %v", err)
	}
	if log := logSize(t, path) >> 20; log > size/2 {
		t.Errorf("the WAL has %d MiB", log)
	}
}

// fill writes a file until the disk is full.
func fill(t *testing.T, path string, most int) {
	t.Helper()
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	block := make([]byte, 4096)
	for range most / len(block) {
		if _, err = file.Write(block); err != nil {
			break
		}
	}
	if !errors.Is(err, unix.ENOSPC) {
		t.Fatalf("the disk is not full: %v", err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
}
