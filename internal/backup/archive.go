package backup

import (
	"archive/zip"
	"compress/flate"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/pocketbase/dbx"
)

// source is the data directory of a backup.
type source struct {
	dir             string
	data, auxiliary dbx.Builder // connections to its databases
	exclude         []string    // names in the directory
}

// archiveFolder writes the zip archive of the data directory. It copies the databases to work first, and archives the
// other files afterwards. A file that a copied record names is then included, unless it was deleted since.
func archiveFolder(ctx context.Context, from source, work, path string) (err error) {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	archive := &archiver{ctx: ctx, zip: zip.NewWriter(file)}
	archive.zip.RegisterCompressor(zip.Deflate, func(out io.Writer) (io.WriteCloser, error) {
		return flate.NewWriter(out, flate.BestSpeed)
	})
	for _, database := range []struct {
		name string
		db   dbx.Builder
	}{{dataFile, from.data}, {auxiliaryFile, from.auxiliary}} {
		if excluded(database.name, from.exclude) {
			continue
		}
		copied := filepath.Join(work, database.name)
		if err := copyDatabase(ctx, database.db, copied); err != nil {
			return err
		}
		if err := archive.add(database.name, copied); err != nil {
			return err
		}
		if err := os.Remove(copied); err != nil { // the next copy needs the space
			return err
		}
	}
	if err := archive.addFiles(from.dir, from.exclude); err != nil {
		return err
	}
	return archive.zip.Close()
}

// archiver writes a zip archive, and fails once its context ends.
type archiver struct {
	ctx context.Context
	zip *zip.Writer
}

// addFiles adds the files of the data directory that are not databases.
func (a *archiver) addFiles(dataDir string, exclude []string) error {
	return filepath.WalkDir(dataDir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return ignoreMissing(err)
		}
		name, err := filepath.Rel(dataDir, path)
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		if entry.IsDir() {
			if name != "." && excluded(name, exclude) || entry.Name() == lostAndFound {
				return fs.SkipDir
			}
			return nil
		}
		if excluded(name, exclude) || isDatabase(name) {
			return nil
		}
		return ignoreMissing(a.add(name, path))
	})
}

// add adds a file, or the target of a link. A link to a directory is an error, so that nothing is left out silently.
// Sockets and the like are skipped: they have no content.
func (a *archiver) add(name, path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if info.IsDir() {
		return fmt.Errorf("%s is a link to a directory, which a backup cannot contain", name)
	}
	if !info.Mode().IsRegular() {
		return nil
	}
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // it was only read
	header, err := zip.FileInfoHeader(info)
	if err != nil {
		return err
	}
	header.Name = name
	header.Method = zip.Deflate
	out, err := a.zip.CreateHeader(header)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, &cancelled{ctx: a.ctx, from: file}); err != nil {
		return fmt.Errorf("adding %s: %w", name, err)
	}
	return nil
}

// cancelled is a reader that fails once its context ends.
type cancelled struct {
	ctx  context.Context
	from io.Reader
}

func (c *cancelled) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.from.Read(p)
}
