package move

import (
	"archive/zip"
	"bufio"
	"compress/flate"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
)

// An archive is a zip file: for each kind of rows a file of JSON Lines, and a manifest with what is in them. The manifest is sealed with
// the passphrase, so that it also tells a wrong one.

// format is the version of the archive's form.
const format = 1

const manifestName = "manifest.json"

// maxManifest is the largest manifest that is read, in bytes.
const maxManifest = 1 << 20

// Manifest tells what is in an archive.
type Manifest struct {
	Format  int    `json:"format"`
	Program string `json:"program"` // the version that wrote it
	Tenant  string `json:"tenant"`  // the id
	Name    string `json:"name"`
	Created string `json:"created"`
	Salt    []byte `json:"salt"` // of the passphrase
	Files   []File `json:"files"`
	Seal    string `json:"seal"` // of the rest

	checksum string
}

// File is a file of rows in an archive.
type File struct {
	Name   string  `json:"name"`
	Rows   int     `json:"rows"`
	SHA256 string  `json:"sha256"`
	Fields []Field `json:"fields"`
}

// Checksum is that of the manifest, and through it of all that is in the archive.
func (m *Manifest) Checksum() string { return m.checksum }

// Rows returns how many rows of a table are in the archive.
func (m *Manifest) Rows(table string) int {
	for _, file := range m.Files {
		if file.Name == (kind{table: table}).file() {
			return file.Rows
		}
	}
	return 0
}

func (m *Manifest) total() (rows int) {
	for _, file := range m.Files {
		rows += file.Rows
	}
	return rows
}

// sealed returns what the seal is about: the manifest without it.
func (m *Manifest) sealed() ([]byte, error) {
	bare := *m
	bare.Seal = ""
	return json.Marshal(bare)
}

// writer writes an archive.
type writer struct {
	zip      *zip.Writer
	manifest *Manifest
}

func newWriter(to io.Writer, manifest *Manifest) *writer {
	w := &writer{zip.NewWriter(to), manifest}
	w.zip.RegisterCompressor(zip.Deflate, func(to io.Writer) (io.WriteCloser, error) { return flate.NewWriter(to, flate.BestSpeed) })
	return w
}

// file writes a file, whose lines write hands to its argument.
func (w *writer) file(name string, fields []Field, write func(line func([]byte) error) error) error {
	part, err := w.zip.Create(name)
	if err != nil {
		return err
	}
	sum, rows := sha256.New(), 0
	to := bufio.NewWriterSize(io.MultiWriter(part, sum), 64<<10)
	err = write(func(line []byte) error {
		rows++
		_, err := to.Write(append(line, '\n'))
		return err
	})
	if err = errors.Join(err, to.Flush()); err != nil {
		return err
	}
	w.manifest.Files = append(w.manifest.Files, File{name, rows, hex.EncodeToString(sum.Sum(nil)), fields})
	return nil
}

// close writes the manifest, and with it the end of the archive.
func (w *writer) close(s *sealer) error {
	bare, err := w.manifest.sealed()
	if err != nil {
		return err
	}
	w.manifest.Seal = s.seal("", bare)
	encoded, err := json.MarshalIndent(w.manifest, "", "  ")
	if err != nil {
		return err
	}
	part, err := w.zip.Create(manifestName)
	if err == nil {
		_, err = part.Write(encoded)
	}
	w.manifest.checksum = checksum(encoded)
	return errors.Join(err, w.zip.Close())
}

func checksum(encoded []byte) string {
	sum := sha256.Sum256(encoded)
	return hex.EncodeToString(sum[:])
}

// Archive is an archive that is read.
type Archive struct {
	Manifest
	zip    *zip.Reader
	sealer *sealer
}

// Open reads the manifest of an archive. The error is ErrPassphrase where the passphrase is wrong.
func Open(from io.ReaderAt, size int64, passphrase string) (*Archive, error) {
	opened, err := zip.NewReader(from, size)
	if err != nil {
		return nil, fmt.Errorf("this is no archive of a tenant, or it is damaged: %w", err)
	}
	a := &Archive{zip: opened}
	if err := a.readManifest(); err != nil {
		return nil, fmt.Errorf("reading the manifest of the archive: %w", err)
	}
	if a.Format != format {
		return nil, fmt.Errorf("the archive has the form %d, and this version reads %d: it was written by %s", a.Format, format, a.Program)
	}
	if a.sealer, err = newSealer(passphrase, a.Salt); err != nil {
		return nil, err
	}
	bare, err := a.sealed()
	if err != nil {
		return nil, err
	}
	if _, err := a.sealer.open(a.Seal, bare); err != nil {
		return nil, err
	}
	if len(a.Files) != len(kinds) {
		return nil, fmt.Errorf("the archive has %d files, and not %d: it was written by %s", len(a.Files), len(kinds), a.Program)
	}
	for i, k := range kinds {
		if a.Files[i].Name != k.file() {
			return nil, fmt.Errorf("the archive has %s in the place of %s: it was written by %s", a.Files[i].Name, k.file(), a.Program)
		}
	}
	return a, nil
}

func (a *Archive) readManifest() error {
	part, err := a.zip.Open(manifestName)
	if err != nil {
		return err
	}
	defer func() { _ = part.Close() }() // which was only read
	encoded, err := io.ReadAll(io.LimitReader(part, maxManifest))
	if err != nil {
		return err
	}
	a.checksum = checksum(encoded)
	return json.Unmarshal(encoded, &a.Manifest)
}

// lines reads a file of an archive line by line.
type lines struct {
	file File
	part io.ReadCloser
	from *bufio.Reader
	sum  hash.Hash
	read int
}

// open opens the file of a kind.
func (a *Archive) open(place int) (*lines, error) {
	file := a.Files[place]
	part, err := a.zip.Open(file.Name)
	if err != nil {
		return nil, fmt.Errorf("the archive is damaged: %w", err)
	}
	sum := sha256.New()
	return &lines{file: file, part: part, from: bufio.NewReaderSize(io.TeeReader(part, sum), 64<<10), sum: sum}, nil
}

// next returns the next line, and io.EOF behind the last one. Then the file has been what the manifest says.
func (l *lines) next() ([]byte, error) {
	line, err := l.from.ReadBytes('\n')
	switch {
	case errors.Is(err, io.EOF) && len(line) == 0:
		if l.read != l.file.Rows || hex.EncodeToString(l.sum.Sum(nil)) != l.file.SHA256 {
			return nil, fmt.Errorf("the archive is damaged: %s is not what its manifest says", l.file.Name)
		}
		return nil, io.EOF
	case err != nil:
		return nil, fmt.Errorf("the archive is damaged: %s: %w", l.file.Name, err)
	}
	l.read++
	return line[:len(line)-1], nil
}

func (l *lines) close() { _ = l.part.Close() } // which was only read
