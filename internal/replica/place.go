package replica

import (
	"fmt"
	"path/filepath"
	"strings"

	"contactbase/internal/replica/store"
)

// checkPlace refuses a store that is lost with the data folder, and that each backup of it would hold.
func checkPlace(found store.Store, dataDir string) error {
	folder, local := store.Folder(found)
	if !local {
		return nil
	}
	inside, err := filepath.Rel(resolved(dataDir), resolved(folder))
	if err != nil || inside == ".." || strings.HasPrefix(inside, ".."+string(filepath.Separator)) {
		return nil //nolint:nilerr // there is no way from one to the other
	}
	return fmt.Errorf("%s is in the data folder, and would be lost with it; name a folder on another disk", folder)
}

// resolved returns a path without links, as far as it is there.
func resolved(path string) string {
	if absolute, err := filepath.Abs(path); err == nil {
		path = absolute
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	if parent := filepath.Dir(path); parent != path {
		return filepath.Join(resolved(parent), filepath.Base(path))
	}
	return path
}
