package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"
)

// folder is a store in a directory, for a single writer: Swap does not protect against others.
type folder string

// Folder returns the path of a store in a directory, and false for any other store.
func Folder(s Store) (path string, local bool) {
	f, local := s.(folder)
	return string(f), local
}

// unfinished starts the names of files that are being written.
const unfinished = ".writing-"

// unfinishedFor is how long a file may be written without a change. Another process may still write a younger one.
const unfinishedFor = time.Hour

// RemoveUnfinished deletes partial objects that a killed process has left in a directory. A bucket has
// no partial objects.
func RemoveUnfinished(s Store) error {
	root, local := Folder(s)
	if !local {
		return nil
	}
	return filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return ignoreMissing(err) // there is no directory yet
		}
		if entry.IsDir() || !strings.HasPrefix(entry.Name(), unfinished) {
			return nil
		}
		if info, err := entry.Info(); err != nil || time.Since(info.ModTime()) < unfinishedFor {
			return ignoreMissing(err)
		}
		return ignoreMissing(os.Remove(path))
	})
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func (f folder) path(name string) string { return filepath.Join(string(f), filepath.FromSlash(name)) }

// Put implements Store. The object is on the disk when it returns.
func (f folder) Put(_ context.Context, name string, content io.Reader) (size int64, err error) {
	target := f.path(name)
	if err := os.MkdirAll(filepath.Dir(target), 0o700); err != nil {
		return 0, err
	}
	file, err := os.CreateTemp(filepath.Dir(target), unfinished+"*")
	if err != nil {
		return 0, err
	}
	defer func() {
		if err != nil {
			_ = file.Close()
			_ = os.Remove(file.Name()) // missing if it was renamed
		}
	}()
	if size, err = io.Copy(file, content); err != nil {
		return 0, err
	}
	if err := file.Sync(); err != nil {
		return 0, err
	}
	if err := file.Close(); err != nil {
		return 0, err
	}
	if err := os.Rename(file.Name(), target); err != nil {
		return 0, err
	}
	return size, syncFolder(filepath.Dir(target))
}

func (f folder) Get(_ context.Context, name string, offset, size int64) (io.ReadCloser, error) {
	file, err := os.Open(f.path(name))
	if err != nil {
		return nil, err
	}
	if _, err := file.Seek(offset, io.SeekStart); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	if size == 0 {
		return file, nil
	}
	return part{io.LimitReader(file, size), file}, nil
}

// part is a part of a file.
type part struct {
	io.Reader
	io.Closer
}

func (f folder) List(_ context.Context, name string) ([]Object, error) {
	entries, err := readFolder(f.path(name))
	if err != nil {
		return nil, err
	}
	var objects []Object
	for _, entry := range entries {
		info, err := entry.Info()
		if errors.Is(err, fs.ErrNotExist) || err == nil && !info.Mode().IsRegular() {
			continue
		}
		if err != nil {
			return nil, err
		}
		objects = append(objects, Object{path.Join(name, entry.Name()), info.Size(), info.ModTime()})
	}
	return objects, nil
}

func (f folder) Folders(_ context.Context, name string) ([]string, error) {
	entries, err := readFolder(f.path(name))
	if err != nil {
		return nil, err
	}
	var names []string
	for _, entry := range entries {
		if entry.IsDir() {
			names = append(names, entry.Name())
		}
	}
	return names, nil
}

func (f folder) Delete(_ context.Context, names []string) error {
	for _, name := range names {
		if err := ignoreMissing(os.Remove(f.path(name))); err != nil {
			return err
		}
	}
	return nil
}

func (f folder) DeleteFolder(_ context.Context, name string) error { return os.RemoveAll(f.path(name)) }

func (f folder) Read(_ context.Context, name string) (content []byte, tag string, err error) {
	content, err = os.ReadFile(f.path(name))
	if err != nil {
		return nil, "", err
	}
	sum := sha256.Sum256(content)
	return content, hex.EncodeToString(sum[:]), nil
}

func (f folder) Swap(ctx context.Context, name string, content []byte, tag string) (newTag string, err error) {
	_, present, err := f.Read(ctx, name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	if present != tag {
		return "", ErrChanged
	}
	if _, err := f.Put(ctx, name, bytes.NewReader(content)); err != nil {
		return "", err
	}
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:]), nil
}

// readFolder returns no entries for a missing directory.
func readFolder(path string) ([]fs.DirEntry, error) {
	entries, err := os.ReadDir(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return entries, err
}

// syncFolder syncs a directory to the disk. It ignores systems that cannot.
func syncFolder(path string) error {
	opened, err := os.Open(path)
	if err != nil {
		return err
	}
	_ = opened.Sync()
	return opened.Close()
}
