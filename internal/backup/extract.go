package backup

import (
	"archive/zip"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	_ "modernc.org/sqlite" // the driver

	"contactbase/internal/sqlite"
)

// Limits of an archive. Databases and text compress to about a tenth. Deflate compresses zeros to a thousandth, which
// is how an archive is made to fill a disk.
const (
	maxEntries   = 1_000_000
	maxExpansion = 100
	alwaysFits   = 64 << 20 // bytes, regardless of the archive's size
)

// extract writes the content of an archive to a directory, synced to the disk, and checks that it is a data
// directory. It returns ErrInvalid with the reason if it is not, and ErrNewer if a newer version wrote it.
func extract(archive, folder string) error {
	reader, err := zip.OpenReader(archive)
	if errors.Is(err, zip.ErrFormat) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	if err != nil {
		return err
	}
	defer func() { _ = reader.Close() }() // it was only read
	info, err := os.Stat(archive)
	if err != nil {
		return err
	}
	if err := checkSize(reader.File, uint64(info.Size())); err != nil {
		return err
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }() // its files are closed
	for _, file := range reader.File {
		if err := extractFile(root, file); err != nil {
			return fmt.Errorf("extracting %q: %w", file.Name, err)
		}
	}
	if err := syncFolders(folder); err != nil {
		return err
	}
	return verify(folder)
}

func checkSize(files []*zip.File, archive uint64) error {
	if len(files) > maxEntries {
		return fmt.Errorf("%w: it has %d files", ErrInvalid, len(files))
	}
	var total uint64
	for _, file := range files {
		total += min(file.UncompressedSize64, 1<<62/maxEntries) // so that the sum does not overflow
	}
	if total > alwaysFits && total/maxExpansion > archive {
		return fmt.Errorf("%w: %d bytes claim to hold %d", ErrInvalid, archive, total)
	}
	return nil
}

func extractFile(root *os.Root, file *zip.File) error {
	name := filepath.FromSlash(file.Name)
	if !filepath.IsLocal(name) || strings.Contains(file.Name, `\`) {
		return fmt.Errorf("%w: the name leads out of the directory", ErrInvalid)
	}
	mode := file.Mode()
	if mode.IsDir() {
		return root.MkdirAll(name, 0o700)
	}
	if !mode.IsRegular() {
		return fmt.Errorf("%w: neither a file nor a directory", ErrInvalid)
	}
	if err := root.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	out, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%w: the name occurs twice", ErrInvalid)
	}
	if err != nil {
		return err
	}
	if err := writeFile(out, file); err != nil {
		return errors.Join(err, out.Close())
	}
	return out.Close()
}

// writeFile copies the content. The reader checks its size and checksum.
func writeFile(out *os.File, file *zip.File) error {
	in, err := file.Open()
	if err != nil {
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	defer in.Close()
	if _, err := io.Copy(out, in); err != nil {
		var disk *fs.PathError // of writing
		if errors.As(err, &disk) {
			return err
		}
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return out.Sync()
}

// verify checks that a directory has valid databases of PocketBase.
func verify(folder string) error {
	if _, err := os.Stat(filepath.Join(folder, dataFile)); err != nil {
		return fmt.Errorf("%w: it has no %s", ErrInvalid, dataFile)
	}
	const isPocketBase = "SELECT count(*) FROM sqlite_schema " +
		"WHERE type = 'table' AND name IN ('_collections', '_migrations', '_params')"
	if err := verifyDatabase(filepath.Join(folder, dataFile), isPocketBase, "3"); err != nil {
		return err
	}
	if err := checkVersion(filepath.Join(folder, dataFile)); err != nil {
		return fmt.Errorf("it %w", err)
	}
	auxiliary := filepath.Join(folder, auxiliaryFile)
	if _, err := os.Stat(auxiliary); err != nil {
		return ignoreMissing(err) // PocketBase creates an empty one
	}
	return verifyDatabase(auxiliary, "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = '_logs'", "1")
}

// verifyDatabase checks the integrity of a database, and that the query returns what is wanted. Opening it also
// recovers its WAL, which backups of PocketBase may have.
func verifyDatabase(path, query, want string) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("%w: %s: %w", ErrInvalid, filepath.Base(path), err)
		}
	}()
	db, err := sql.Open("sqlite", sqlite.Name(path))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	db.SetMaxOpenConns(1)
	for _, check := range []struct{ query, want string }{{"PRAGMA integrity_check(1)", "ok"}, {query, want}} {
		var got string
		if err := db.QueryRowContext(context.Background(), check.query).Scan(&got); err != nil {
			return err
		}
		if got != check.want {
			return fmt.Errorf("%s is %q instead of %q", check.query, got, check.want)
		}
	}
	return nil
}

// syncFolders syncs a directory and all directories below it to the disk.
func syncFolders(folder string) error {
	return filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		return syncFolder(path)
	})
}

func syncFolder(path string) error {
	if runtime.GOOS == "windows" {
		return nil // Windows cannot sync a directory
	}
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
