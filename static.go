package main

import (
	"embed"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

//go:embed pb_public
var builtIn embed.FS

// overlay serves a file from the folder where it is there, and from the executable otherwise.
type overlay struct {
	folder fs.FS // nil where there is no folder
	base   fs.FS
}

// publicFiles returns the start page, whose files a folder pb_public beside the data folder replaces one by one.
// The folder is opened as a root: a link in it leads nowhere outside of it.
func publicFiles(dataDir string) (fs.FS, error) {
	base, err := fs.Sub(builtIn, "pb_public")
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(filepath.Join(dataDir, "..", "pb_public"))
	if errors.Is(err, fs.ErrNotExist) {
		return overlay{base: base}, nil
	}
	if err != nil {
		return nil, err
	}
	return overlay{folder: root.FS(), base: base}, nil
}

// Open opens the file of that name.
func (o overlay) Open(name string) (fs.File, error) {
	if o.folder != nil {
		if file, err := o.folder.Open(name); err == nil {
			return file, nil
		}
	}
	return o.base.Open(name)
}
