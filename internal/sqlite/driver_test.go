package sqlite

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// The driver needs exactly the version of libc that it was generated for.
func TestLibcVersion(t *testing.T) {
	t.Parallel()
	module := func(path, field string) string {
		out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{."+field+"}}", path).Output()
		if err != nil {
			t.Fatalf("finding the module %s: %v", path, err)
		}
		return strings.TrimSpace(string(out))
	}
	required, err := os.ReadFile(module("modernc.org/sqlite", "GoMod"))
	if err != nil {
		t.Fatalf("reading the driver's go.mod: %v", err)
	}
	found := regexp.MustCompile(`modernc\.org/libc (v\S+)`).FindSubmatch(required)
	if found == nil {
		t.Fatalf("the driver requires no libc:\n%s", required)
	}
	if has := module("modernc.org/libc", "Version"); has != string(found[1]) {
		t.Errorf("go.mod has libc %s, the driver requires %s", has, found[1])
	}
}
