package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Every test that the tables of conformance and of what is tested name exists.
func TestConformanceNamesTests(t *testing.T) {
	t.Parallel()
	var table []byte
	for _, file := range []string{"conformance.md", "what-we-test.md"} {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		_, promises, _ := strings.Cut(string(source), "## ") // past the introduction
		if file == "what-we-test.md" {
			_, promises, _ = strings.Cut(promises, "## Promises")
		}
		table = append(table, promises...)
	}
	named := regexp.MustCompile("`([a-z0-9/]+)/((?:Test|Fuzz)[A-Za-z0-9]+)`").FindAllStringSubmatch(string(table), -1)
	if len(named) < 50 {
		t.Fatalf("the table names only %d tests", len(named))
	}
	sources := map[string]string{} // of the tests, by folder
	for _, name := range named {
		folder, test := name[1], name[2]
		if sources[folder] == "" {
			sources[folder] = testsIn(t, filepath.Join("..", filepath.FromSlash(folder)))
		}
		if !strings.Contains(sources[folder], "\nfunc "+test+"(") {
			t.Errorf("there is no %s in %s", test, folder)
		}
	}
	for line := range strings.Lines(string(table)) {
		if strings.HasPrefix(line, "| ") && !strings.HasPrefix(line, "| sentence") && !strings.HasPrefix(line, "| promise") && !regexp.MustCompile("/(Test|Fuzz)|`task ").MatchString(line) {
			t.Errorf("nothing proves: %s", line)
		}
	}
}

func testsIn(t *testing.T, folder string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(source)
	}
	return all.String()
}
