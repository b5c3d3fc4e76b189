package dashboard

import (
	"bytes"
	"io"
	"io/fs"
	"time"
)

// extension is the file system that PocketBase serves: the contents of the joined files, by name.
type extension map[string][]byte

// Open opens the file of that name.
func (x extension) Open(name string) (fs.File, error) {
	content, found := x[name]
	if !found {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return &joinedFile{Reader: bytes.NewReader(content), name: name}, nil
}

// joinedFile is an open file. The reader has Seek, which serving a file needs.
type joinedFile struct {
	*bytes.Reader
	name string
}

var (
	_ fs.File   = (*joinedFile)(nil)
	_ io.Seeker = (*joinedFile)(nil)
)

func (f *joinedFile) Stat() (fs.FileInfo, error) { return joinedInfo{f.name, f.Size()}, nil }
func (f *joinedFile) Close() error               { return nil }

// joinedInfo describes a file.
type joinedInfo struct {
	name string
	size int64 // in bytes
}

func (i joinedInfo) Name() string       { return i.name }
func (i joinedInfo) Size() int64        { return i.size }
func (i joinedInfo) Mode() fs.FileMode  { return 0o444 }
func (i joinedInfo) ModTime() time.Time { return time.Time{} }
func (i joinedInfo) IsDir() bool        { return false }
func (i joinedInfo) Sys() any           { return nil }
