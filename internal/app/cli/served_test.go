package cli

import (
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"contactbase/cmd"
	"contactbase/internal/safehttp"
	"contactbase/internal/settings"
	"contactbase/internal/tenant"
)

// following reads a command line on the data directory of a server with other settings.
func following(t *testing.T, dir string, s *settings.Settings, args ...string) *config {
	t.Helper()
	root, serve := &cobra.Command{}, &cobra.Command{}
	for _, name := range []string{"dir", "encryptionEnv"} {
		root.PersistentFlags().String(name, "", "")
	}
	c := &config{settings: s, served: readServed(dir)}
	if err := c.parse(root, serve, args); err != nil {
		t.Fatal(err)
	}
	return c
}

// serving writes what a server with these flags leaves in the data directory.
func serving(t *testing.T, dir string, args ...string) {
	t.Helper()
	_, _, serve, err := parse(append([]string{"serve"}, args...)...)
	if err != nil {
		t.Fatal(err)
	}
	if err := writeServed(dir, serve.PersistentFlags()); err != nil {
		t.Fatal(err)
	}
}

func TestCommandsFollowTheServer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	credentials := filepath.Join(dir, "nats.creds")
	if err := os.WriteFile(credentials, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if c := following(t, dir, settings.None(), "webhook", "create"); c.bounds != tenant.DefaultBounds {
		t.Errorf("before the first server, the bounds are %+v", c.bounds)
	}
	serving(t, dir, "--maxWebhooks=150", "--maxKeys=7", "--webhookAllow=10.0.0.0/8,192.168.1.7/32", "--portalAllowPrivate",
		"--webhookProxy=http://ann:hunter2@proxy.example.com:3128", "--nats=nats://bob:hunter2@127.0.0.1:4222",
		"--natsSubjects=a.>,b.>", "--natsCreds="+credentials, "--retentionDays=7")
	c := following(t, dir, settings.None(), "webhook", "create", "--maxKeys=8")
	want := tenant.Bounds{Keys: 8, Webhooks: 150, Inbound: 100, Members: 500} // its own flag wins
	if c.bounds != want || !c.portalAllowPrivate || c.retentionDays != 30 || c.webhookProxy != "http://proxy.example.com:3128" ||
		!slices.Equal(c.webhookAllow, networks{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("192.168.1.7/32")}) ||
		c.nats.URL != "nats://127.0.0.1:4222" || c.nats.Credentials != credentials || !slices.Equal(c.nats.Subjects, []string{"a.>", "b.>"}) {
		t.Errorf("the command has %+v", c)
	}
	fromEnvironment, err := settings.Read(nil, []string{"CONTACTBASE_MAX_WEBHOOKS=3"})
	if err != nil {
		t.Fatal(err)
	}
	if c := following(t, dir, fromEnvironment, "webhook", "create"); c.bounds.Webhooks != 3 || c.bounds.Keys != 7 {
		t.Errorf("with an environment, the bounds are %+v", c.bounds)
	}
	for _, command := range []string{"serve", "config", cmd.DemoName} {
		if c := following(t, dir, settings.None(), command); c.bounds != tenant.DefaultBounds {
			t.Errorf("%s follows the last server: %+v", command, c.bounds)
		}
	}
	content, err := os.ReadFile(filepath.Join(dir, servedFile))
	if err != nil || strings.Contains(string(content), "hunter2") {
		t.Errorf("the file is %s (%v)", content, err)
	}
	if err := os.Remove(credentials); err != nil {
		t.Fatal(err)
	}
	if c := following(t, dir, settings.None(), "key", "list"); c.nats.Credentials != "" {
		t.Errorf("a command needs credentials that it cannot read: %s", c.nats.Credentials)
	}
	serving(t, dir)
	if c := following(t, dir, settings.None(), "webhook", "create"); c.bounds != tenant.DefaultBounds || len(c.webhookAllow) > 0 {
		t.Errorf("after a server with defaults, the command has %+v", c)
	}
}

// Each setting that a command has as a flag is one of those that it takes from the server.
func TestFollowedSettings(t *testing.T) {
	t.Parallel()
	used := map[string]bool{}
	var look func(*cobra.Command)
	look = func(command *cobra.Command) {
		for _, name := range cmd.SettingsOf(command) {
			used[name] = true
		}
		for _, sub := range command.Commands() {
			look(sub)
		}
	}
	for _, command := range []*cobra.Command{
		cmd.NewTenantCommand(nil, nil, tenant.Bounds{}, 0), cmd.NewKeyCommand(nil), cmd.NewMemberCommand(nil, nil),
		cmd.NewWebhookCommand(nil, nil, nil, safehttp.Options{}), cmd.NewInboundCommand(nil, nil),
		cmd.NewDeliveryCommand(nil, nil), cmd.NewEventCommand(nil, nil),
		cmd.NewBackupCommand(nil), cmd.NewRestoreCommand(nil), cmd.NewDoctorCommand(nil),
	} {
		look(command)
	}
	want := map[string]bool{}
	for _, name := range followed {
		want[name] = true
	}
	if !reflect.DeepEqual(used, want) {
		t.Errorf("commands use the settings %v, and follow %v", used, want)
	}
}
