package docs

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// versionSuffix is what a module's path has beside the name that people know it by.
var versionSuffix = regexp.MustCompile(`/(v\d+|libraries)$`)

// Each module that the program names itself has a line that says why.
func TestDependenciesHaveReasons(t *testing.T) {
	t.Parallel()
	modules, err := os.ReadFile("../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	reasons, err := os.ReadFile("adr/0005-dependencies.md")
	if err != nil {
		t.Fatal(err)
	}
	direct := regexp.MustCompile(`(?m)^\t(\S+) v\S+$`).FindAllStringSubmatch(string(modules), -1)
	if len(direct) < 10 {
		t.Fatalf("go.mod names %d modules", len(direct))
	}
	for _, module := range direct {
		name := strings.TrimPrefix(versionSuffix.ReplaceAllString(module[1], ""), "github.com/")
		if !strings.Contains(string(reasons), "`"+name+"`") {
			t.Errorf("the decision about dependencies does not say what %s is for", name)
		}
	}
}
