package e2e

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// settingsFile writes a settings file beside the data directory.
func (i *installation) settingsFile(content string) string {
	i.t.Helper()
	path := filepath.Join(filepath.Dir(i.data), "contactbase.yaml")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		i.t.Fatal(err)
	}
	return path
}

// The command config shows the effective settings and where they come from, and no secret.
func TestConfigCommand(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	key := strings.Repeat("k", 32)
	path := i.settingsFile("retentionDays: 7\ndurability: normal\norigins: [https://a.example, https://b.example]\nencryptionEnv: CONTACTBASE_ENCRYPTION_KEY\n")
	i.env = []string{"CONTACTBASE_CONFIG=" + path, "CONTACTBASE_RETENTION_DAYS=8", "CONTACTBASE_DURABILITY=full", "CONTACTBASE_ENCRYPTION_KEY=" + key}
	shown := map[string][2]any{}
	for _, setting := range i.many("config", "--durability", "normal", "--http", "127.0.0.1:1") {
		shown[str(t, setting, "setting")] = [2]any{setting["value"], setting["source"]}
	}
	for name, want := range map[string][2]any{
		"durability":    {"normal", "flag --durability"},
		"http":          {"127.0.0.1:1", "flag --http"},
		"retentionDays": {"8", "environment variable CONTACTBASE_RETENTION_DAYS"},
		"webhookAllow":  {"127.0.0.0/8", "environment variable CONTACTBASE_WEBHOOK_ALLOW"},
		"origins":       {"https://a.example,https://b.example", "file " + path + ", line 3"},
		"encryptionEnv": {"CONTACTBASE_ENCRYPTION_KEY", "file " + path + ", line 4"},
		"queryTimeout":  {"30", "default"},
		"logLevel":      {"info", "default"},
	} {
		if shown[name] != want {
			t.Errorf("%s is shown as %v, want %v", name, shown[name], want)
		}
	}
	guide, err := os.ReadFile("../docs/settings.md")
	if err != nil {
		t.Fatal(err)
	}
	for name := range shown {
		if !strings.Contains(string(guide), "\n| `"+name+"` | ") {
			t.Errorf("the guide does not list %s", name)
		}
	}
	table := i.must("config")
	if !strings.Contains(table, "retentionDays") || strings.Contains(table, key) {
		t.Errorf("the table is\n%s", table)
	}
	if _, err := os.Stat(i.data); err == nil {
		t.Error("showing the settings created the data directory")
	}
}

// serve reads all its flags, including PocketBase's, from the environment and the settings file, too.
func TestServeBySettings(t *testing.T) {
	t.Parallel()
	i := newInstallation(t).superuser()
	path := i.settingsFile("http: 127.0.0.1:0\ndir: " + i.data + "\n")
	command := exec.Command(binary(t), "serve")
	command.Dir = t.TempDir()
	command.Env = testEnv("CONTACTBASE_CONFIG=" + path)
	s := &server{process: launch(t, command), installation: i}
	s.await("\n\n")
	s.base = regexp.MustCompile(`http://127\.0\.0\.1:[1-9]\d*`).FindString(s.output.String())
	t.Cleanup(s.end)
	s.signIn().expect(http.StatusOK, http.MethodGet, "/api/collections/tenants/records", "")
}

// With an invalid setting, every command ends with one sentence that says where it is.
func TestRefusedSettings(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	path := i.settingsFile("retentionDays: 0\n")
	for variable, says := range map[string]string{
		"CONTACTBASE_CONFIG=" + path:           path + ", line 1: retentionDays must be from 1 to 36500",
		"CONTACTBASE_RETENTION_DAY=7":          "the environment variable CONTACTBASE_RETENTION_DAY is not a setting",
		"CONTACTBASE_QUERY_TIMEOUT=long":       `CONTACTBASE_QUERY_TIMEOUT must be a whole number, not "long"`,
		"CONTACTBASE_DEBUG_ADDR=0.0.0.0:1":     "CONTACTBASE_DEBUG_ADDR must be a loopback address",
		"CONTACTBASE_ENCRYPTION_ENV=NOT_THERE": "CONTACTBASE_ENCRYPTION_ENV: the environment variable NOT_THERE is not set",
		"CONTACTBASE_HTTPS=":                   "",
	} {
		i.env = []string{variable}
		got := i.run("config")
		if failed := got.code != 0 && oneLine(got.stderr); failed != (says != "") || !strings.Contains(got.stderr, says) {
			t.Errorf("with %s config exits with %d and prints %q, want %q", variable, got.code, got.stderr, says)
		}
	}
}

// Commands use the bounds of the last server on the data directory, unless they have their own.
func TestCommandsFollowTheServer(t *testing.T) {
	t.Parallel()
	i, _ := newTenant(t)
	s := i.serve("--maxWebhooks", "1")
	i.must("webhook", "create", "Acme", "https://example.com/a")
	if got := i.run("webhook", "create", "Acme", "https://example.com/b"); got.code != 1 || !strings.Contains(got.stderr, "at most 1 webhooks") {
		t.Errorf("beyond the bound of the server, the command exits with %d and prints %q", got.code, got.stderr)
	}
	i.must("webhook", "create", "Acme", "https://example.com/b", "--maxWebhooks", "2")
	s.stop()
	if got := i.run("webhook", "create", "Acme", "https://example.com/c"); got.code != 1 {
		t.Errorf("once the server has ended, the command exits with %d and prints %q", got.code, got.stderr)
	}
	i.serve()
	i.must("webhook", "create", "Acme", "https://example.com/c")
}
