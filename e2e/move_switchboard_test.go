package e2e

import (
	"context"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// switchboard is nginx in front of installations. It proxies the host name of each tenant to the tenant's installation.
type switchboard struct {
	t                   *testing.T
	tool, folder, where string
	everybody           *server // but for the tenant
	*process
}

// newSwitchboard proxies all requests to a server.
func newSwitchboard(t *testing.T, everybody *server) *switchboard {
	t.Helper()
	tool := findTool(t, "nginx")
	if tool == "" {
		t.Skip("there is no nginx here")
	}
	b := &switchboard{t: t, tool: tool, folder: t.TempDir(), where: freeAddress(t), everybody: everybody}
	if err := os.Chmod(filepath.Dir(b.folder), 0o755); err != nil { //nolint:gosec // nginx gives its workers to another user
		t.Fatal(err)
	}
	b.lead(everybody)
	b.process = launch(t, b.command())
	t.Cleanup(b.stop) // with its workers, which would outlive it
	return b
}

// lead configures the server of the tenant, with the configuration of the guide.
func (b *switchboard) lead(acme *server) {
	b.t.Helper()
	block := strings.NewReplacer("http://10.0.0.1:8090", b.everybody.base, "http://10.0.0.2:8090", acme.base, "listen 443 ssl;", "listen "+b.where+";").
		Replace(guideBlock(b.t, "../docs/growing.md", "map $host $installation {"))
	if err := os.WriteFile(filepath.Join(b.folder, "configuration"), []byte(nginxConfiguration("worker_processes 1;\nworker_shutdown_timeout 1s;", block)), 0o600); err != nil {
		b.t.Fatal(err)
	}
}

// client returns a client for the tenant's host name.
func (b *switchboard) client(name, key string) *client {
	c := b.everybody.client(key)
	_, port, _ := strings.Cut(b.where, ":")
	c.base = "http://" + name + ".crm.example.com:" + port
	c.http.Transport.(*http.Transport).DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, b.where)
	}
	return c
}

func (b *switchboard) command(more ...string) *exec.Cmd {
	return exec.Command(b.tool, append(nginxArguments(filepath.Join(b.folder, "configuration")), more...)...)
}

// reload makes the proxy reload its configuration.
func (b *switchboard) reload() {
	b.t.Helper()
	if said, err := b.command("-s", "reload").CombinedOutput(); err != nil {
		b.t.Errorf("telling nginx to reload: %v\n%s", err, said)
	}
}
