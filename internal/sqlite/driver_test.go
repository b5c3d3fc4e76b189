package sqlite

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// The libc of go.mod is the one that the driver was translated for: one version does not stand in for another.
func TestTheDriverHasItsLibc(t *testing.T) {
	t.Parallel()
	module := func(path, field string) string {
		out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{."+field+"}}", path).Output()
		if err != nil {
			t.Fatalf("looking for the module %s: %v", path, err)
		}
		return strings.TrimSpace(string(out))
	}
	required, err := os.ReadFile(module("modernc.org/sqlite", "GoMod"))
	if err != nil {
		t.Fatalf("reading what the driver requires: %v", err)
	}
	found := regexp.MustCompile(`modernc\.org/libc (v\S+)`).FindSubmatch(required)
	if found == nil {
		t.Fatalf("the driver requires no libc:\n%s", required)
	}
	if has := module("modernc.org/libc", "Version"); has != string(found[1]) {
		t.Errorf("go.mod has libc %s, and the driver wants %s", has, found[1])
	}
}
