package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"sync"
)

// laterMigration is the migration of the later version, which the program's sources do not have.
const laterMigration = "1769000001_later.go"

// buildLater compiles a later version of the program, with one more migration, once for all tests.
var buildLater = sync.OnceValues(func() (string, error) {
	program, err := build()
	if err != nil {
		return "", err
	}
	added, err := filepath.Abs(filepath.Join("testdata", "later", laterMigration))
	if err != nil {
		return "", err
	}
	beside, err := filepath.Abs(filepath.Join("..", laterMigration))
	if err != nil {
		return "", err
	}
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {beside: added}})
	if err != nil {
		return "", err
	}
	file := filepath.Join(filepath.Dir(program), "overlay.json")
	if err := os.WriteFile(file, overlay, 0o600); err != nil {
		return "", err
	}
	return compile(filepath.Join(filepath.Dir(program), "later"), "-overlay="+file)
})

// later makes a later version of the program work on the installation.
func (i *installation) later() *installation {
	i.t.Helper()
	path, err := buildLater()
	if err != nil {
		i.t.Fatal(err)
	}
	i.program = []string{path}
	return i
}
