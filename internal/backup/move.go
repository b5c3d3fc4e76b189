package backup

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// lostAndFound is the folder of a file system's check, at the top of a mounted file system.
const lostAndFound = "lost+found"

// mover moves files in and out of a data directory, in which file systems may be mounted. Such a folder stays where it
// is, and so do those above it: their content is moved.
type mover struct {
	mounts []string // absolute paths, links resolved
}

func newMover() mover { return mover{mountPoints()} }

// moveContent moves the content of a directory into another, except the named entries. After an error, it moves
// everything back.
func (m mover) moveContent(from, to string, except ...string) error {
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for i, entry := range entries {
		if slices.Contains(except, entry.Name()) {
			continue
		}
		if err := m.move(filepath.Join(from, entry.Name()), filepath.Join(to, entry.Name())); err != nil {
			for _, moved := range entries[:i+1] {
				if !slices.Contains(except, moved.Name()) {
					back := m.move(filepath.Join(to, moved.Name()), filepath.Join(from, moved.Name()))
					err = errors.Join(err, ignoreMissing(back))
				}
			}
			return err
		}
	}
	return nil
}

// move moves a file, or a directory with its content into one that may exist.
func (m mover) move(from, to string) error {
	info, err := os.Lstat(from)
	if err != nil {
		return err
	}
	there, err := os.Lstat(to)
	merges := err == nil && there.IsDir() && info.IsDir()
	if !merges && !m.holdsMount(from) {
		if err := os.Rename(from, to); !isOtherDevice(err) {
			return err
		}
	}
	if !info.IsDir() {
		return moveFile(from, to, info)
	}
	if !merges {
		if err := os.Mkdir(to, info.Mode().Perm()); err != nil {
			return err
		}
	}
	if err := m.moveContent(from, to, lostAndFound); err != nil {
		return err
	}
	if err := syncFolder(to); err != nil {
		return err
	}
	if err := os.Remove(from); err != nil && !isOtherDevice(err) && !m.holdsMount(from) {
		return err
	}
	return nil
}

// moveFile copies a file or a link to another file system, and deletes the original.
func moveFile(from, to string, info fs.FileInfo) error {
	if info.Mode()&fs.ModeSymlink != 0 {
		target, err := os.Readlink(from)
		if err != nil {
			return err
		}
		return errors.Join(os.Symlink(target, to), os.Remove(from))
	}
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = source.Close() }() // it was only read
	target, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, info.Mode().Perm())
	if err != nil {
		return err
	}
	_, err = io.Copy(target, source)
	if err := errors.Join(err, target.Sync(), target.Close()); err != nil {
		return errors.Join(err, os.Remove(to))
	}
	return os.Remove(from)
}

// holdsMount reports whether a file system is mounted at the path or below it.
func (m mover) holdsMount(path string) bool {
	return slices.ContainsFunc(m.mounts, func(mount string) bool {
		return mount == path || strings.HasPrefix(mount, path+string(filepath.Separator))
	})
}

// below returns the first mount point below a directory, but for the named ones, or "".
func (m mover) below(dir string, except []string) string {
	for _, mount := range m.mounts {
		name, err := filepath.Rel(dir, mount)
		if err == nil && filepath.IsLocal(name) && name != "." && !slices.Contains(except, name) {
			return name
		}
	}
	return ""
}

// isOtherDevice reports whether a file cannot be renamed because it, or its new place, is in another file system.
func isOtherDevice(err error) bool {
	return errors.Is(err, syscall.EXDEV) || errors.Is(err, syscall.EBUSY)
}
