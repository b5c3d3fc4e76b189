package dashboard

import (
	"bytes"
	"io"
	"io/fs"
	"time"
)

// extension is the file system that PocketBase serves: the embedded files, and the joined script as main.js.
type extension struct {
	script []byte
}

// Open opens the file of that name.
func (x extension) Open(name string) (fs.File, error) {
	if name == mainFile {
		return &scriptFile{Reader: bytes.NewReader(x.script)}, nil
	}
	return files.Open(name)
}

// scriptFile is the joined script as an open file. The reader brings Seek, which serving a file needs.
type scriptFile struct {
	*bytes.Reader
}

var (
	_ fs.File   = (*scriptFile)(nil)
	_ io.Seeker = (*scriptFile)(nil)
)

func (f *scriptFile) Stat() (fs.FileInfo, error) { return scriptInfo(f.Size()), nil }
func (f *scriptFile) Close() error               { return nil }

// scriptInfo describes the script; its value is the size in bytes.
type scriptInfo int64

func (i scriptInfo) Name() string       { return mainFile }
func (i scriptInfo) Size() int64        { return int64(i) }
func (i scriptInfo) Mode() fs.FileMode  { return 0o444 }
func (i scriptInfo) ModTime() time.Time { return time.Time{} }
func (i scriptInfo) IsDir() bool        { return false }
func (i scriptInfo) Sys() any           { return nil }
