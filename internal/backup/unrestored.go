package backup

import (
	"os"
	"path/filepath"
	"time"

	"github.com/pocketbase/pocketbase/core"
)

// Unrestored returns how many backups a data directory has that has no database yet, and the path of the newest one.
func Unrestored(dataDir string) (count int, newest string) {
	if _, err := os.Stat(filepath.Join(dataDir, dataFile)); !os.IsNotExist(err) {
		return 0, ""
	}
	folder := filepath.Join(dataDir, core.LocalBackupsDirName)
	entries, _ := os.ReadDir(folder) // what cannot be read cannot be restored
	var last time.Time
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil || filepath.Ext(entry.Name()) != ".zip" {
			continue
		}
		if count++; !info.ModTime().Before(last) {
			last, newest = info.ModTime(), filepath.Join(folder, entry.Name())
		}
	}
	return count, newest
}
