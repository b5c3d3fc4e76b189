package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// clockEnv is the environment variable with the error of the time of day, in seconds, in a program that
// wrongClock has built.
const clockEnv = "WRONG_CLOCK_SECONDS"

// wrongClock compiles the program with a package time whose time of day can be wrong.
var wrongClock = sync.OnceValues(func() (string, error) {
	correct, err := build()
	if err != nil {
		return "", err
	}
	overlay, err := wrongTime(filepath.Dir(correct))
	if err != nil {
		return "", err
	}
	return compile(filepath.Join(filepath.Dir(correct), "contactbase-wrong-clock"), "-overlay="+overlay)
})

// wrongTime writes that package time into a directory, and the overlay file for the compiler.
func wrongTime(dir string) (overlay string, err error) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return "", err
	}
	source := filepath.Join(strings.TrimSpace(string(root)), "src", "time", "time.go")
	content, err := os.ReadFile(source)
	if err != nil {
		return "", err
	}
	const imports, now = "import (\n", "\tsec, nsec, mono := runtimeNow()\n\tif mono == 0 {"
	text := string(content)
	if strings.Count(text, imports) != 1 || strings.Count(text, now) != 1 {
		return "", fmt.Errorf("%s is not what it was", source)
	}
	text = strings.Replace(text, imports, imports+"\t\"syscall\"\n", 1)
	text = strings.Replace(text, now, strings.Replace(now, "\n", "\n\tsec += wrongBy\n", 1), 1)
	text += "\nvar wrongBy = func() int64 {\n\tvalue, _ := syscall.Getenv(\"" + clockEnv + "\")\n\tby, _ := atoi(value)\n\treturn int64(by)\n}()\n"
	replacement, overlay := filepath.Join(dir, "time.go"), filepath.Join(dir, "overlay.json")
	mapping, err := json.Marshal(map[string]map[string]string{"Replace": {source: replacement}})
	if err != nil {
		return "", err
	}
	return overlay, errors.Join(os.WriteFile(replacement, []byte(text), 0o600), os.WriteFile(overlay, mapping, 0o600))
}

// setClock makes the time of day wrong on the machine, from its next start on.
func (m *machine) setClock(by time.Duration) {
	m.t.Helper()
	path, err := wrongClock()
	if err != nil {
		m.t.Fatal(err)
	}
	m.program = []string{path}
	m.env = append(m.env, fmt.Sprintf("%s=%d", clockEnv, int(by.Seconds())))
}
