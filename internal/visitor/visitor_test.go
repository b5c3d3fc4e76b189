package visitor_test

import (
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"contactbase/internal/visitor"
)

func TestNetwork(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"192.0.2.1":            "192.0.2.1",
		"::ffff:192.0.2.1":     "192.0.2.1",
		"2001:db8:1:2:3:4:5:6": "2001:db8:1:2::",
		"2001:0db8:0001:0002:ffff:ffff:ffff:ffff": "2001:db8:1:2::",
		"2001:db8:1:3::": "2001:db8:1:3::",
		"fe80::1%eth0":   "fe80::",
		"::1":            "::",
		"":               "",
		"invalid IP":     "invalid IP",
	} {
		if got := visitor.Network(address); got != want {
			t.Errorf("the network of %q is %q, not %q", address, got, want)
		}
	}
}

// Nothing else reads a client's address, so that every limit per address takes networks.
func TestLimitsTakeNetworks(t *testing.T) {
	t.Parallel()
	allowed := []string{
		"internal/visitor/visitor.go", "internal/visitor/middleware.go",
		"internal/body/body.go", "routes/bodies.go", // for body.Address, which takes the network
		"routes/mcp.go", "internal/mcp/call.go", // pass the address on to the request of a tool
	}
	root := os.DirFS("../..")
	err := fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && slices.Contains([]string{"bench", "e2e", "node_modules", "testkit", ".git"}, entry.Name()) {
			return fs.SkipDir
		}
		if path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") || slices.Contains(allowed, name) {
			return nil
		}
		text, err := fs.ReadFile(root, name)
		for _, call := range []string{"RealIP(", "RemoteIP(", "RemoteAddr"} {
			if strings.Contains(string(text), call) {
				t.Errorf("%s has %s: use visitor.Of", name, call)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
