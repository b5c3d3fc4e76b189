package app

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"contactbase/internal/order"
	"contactbase/routes"

	"github.com/pocketbase/pocketbase/apis"
	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/hook"
)

// bindPublic serves files at all paths that have no route. A folder of the admin's is beside the given data directory.
func bindPublic(app core.App, builtIn fs.FS, dataDir string) {
	app.OnServe().Bind(&hook.Handler[*core.ServeEvent]{
		Id: "contactbasePublic",
		Func: func(e *core.ServeEvent) error {
			files, err := publicFiles(builtIn, dataDir)
			if err != nil {
				return fmt.Errorf("opening the public folder: %w", err)
			}
			serve := apis.Static(files, false)
			e.Router.GET("/{path...}", func(e *core.RequestEvent) error { return routes.OrMissing(e, serve(e)) })
			return e.Next()
		},
		Priority: order.PublicFiles,
	})
}

// overlay serves a file from the folder if it exists there, otherwise from the executable.
type overlay struct {
	folder fs.FS // nil without a folder
	base   fs.FS
}

// publicFiles returns the built-in files. A folder pb_public beside the data directory replaces them one by one; it
// is opened as a root, so that its links cannot lead outside.
func publicFiles(base fs.FS, dataDir string) (fs.FS, error) {
	root, err := os.OpenRoot(filepath.Join(dataDir, "..", "pb_public"))
	if errors.Is(err, fs.ErrNotExist) {
		return overlay{base: base}, nil
	}
	if err != nil {
		return nil, err
	}
	return overlay{folder: root.FS(), base: base}, nil
}

func (o overlay) Open(name string) (fs.File, error) {
	if o.folder != nil {
		if file, err := o.folder.Open(name); err == nil {
			return file, nil
		}
	}
	return o.base.Open(name)
}
