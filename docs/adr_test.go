package docs

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// versionSuffix is what a module's path has beside the name that people know it by.
var versionSuffix = regexp.MustCompile(`/(v\d+|libraries)$`)

// direct matches a module that go.mod names for its own sake.
var direct = regexp.MustCompile(`(?m)^\t(\S+) v\S+$`)

// Each module that the program and the Go client name themselves has a line that says why.
func TestDependenciesHaveReasons(t *testing.T) {
	t.Parallel()
	modules := readFile(t, "../go.mod")
	if count := len(direct.FindAllString(modules, -1)); count < 10 {
		t.Fatalf("go.mod names %d modules", count)
	}
	reasons, err := os.ReadFile("adr/0005-dependencies.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, module := range direct.FindAllStringSubmatch(modules+readFile(t, "../clients/go/go.mod"), -1) {
		name := strings.TrimPrefix(versionSuffix.ReplaceAllString(module[1], ""), "github.com/")
		if !strings.Contains(string(reasons), "`"+name+"`") {
			t.Errorf("the decision about dependencies does not say what %s is for", name)
		}
	}
}
