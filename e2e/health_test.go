package e2e

import (
	"os"
	"strings"
	"testing"
)

// The exit code of the health command tells the supervisor of a container whether the server responds. The command
// does not touch the data directory.
func TestHealthcheck(t *testing.T) {
	t.Parallel()
	s := newInstallation(t).superuser().serve()
	address := strings.TrimPrefix(s.base, "http://")
	other := newInstallation(t)
	if got := other.must("healthcheck", "--http", address); got != "Contactbase dev answers at "+s.base+"\n" {
		t.Errorf("it says %q", got)
	}
	other.env = append(other.env, "CONTACTBASE_HTTP="+address)
	if got := other.must("healthcheck"); !strings.Contains(got, s.base) {
		t.Errorf("where the settings name the address it says %q", got)
	}
	s.stop()
	if got := other.run("healthcheck"); got.code != 1 || !strings.Contains(got.stderr, "connection refused); choose its address with --http") {
		t.Errorf("it exits with %d: %s", got.code, got.stderr)
	}
	if _, err := os.Stat(other.data); !os.IsNotExist(err) {
		t.Errorf("it makes a folder: %v", err)
	}
}
