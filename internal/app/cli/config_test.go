package cli

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"contactbase/internal/replica"
	"contactbase/internal/settings"
	"contactbase/internal/sqlite"
	"contactbase/internal/tenant"
)

// parse reads a command line like run, with the flags that PocketBase has created.
func parse(args ...string) (c *config, root, serve *cobra.Command, err error) {
	root, serve = &cobra.Command{}, &cobra.Command{}
	for _, name := range []string{"dir", "encryptionEnv"} {
		root.PersistentFlags().String(name, "", "")
	}
	root.PersistentFlags().Int("queryTimeout", 30, "")
	serve.PersistentFlags().String("http", "", "")
	c = &config{settings: settings.None()}
	return c, root, serve, c.parse(root, serve, args)
}

func TestServeHasTheSettings(t *testing.T) {
	t.Parallel()
	c, root, serve, err := parse("webhook", "create", "--unknown", "x", "--retentionDays", "7", "--webhookAllow=10.0.0.0/8 127.0.0.1/32")
	if err != nil {
		t.Fatal(err)
	}
	if c.retentionDays != 7 || len(c.webhookAllow) != 2 || c.webhookAllow[0] != netip.MustParsePrefix("10.0.0.0/8") {
		t.Errorf("the settings are %+v", c)
	}
	for name, forEach := range map[string]bool{"dir": true, "encryptionEnv": true, "config": true, "queryTimeout": false, "retentionDays": false, "nats": false} {
		if got := root.PersistentFlags().Lookup(name) != nil; got != forEach {
			t.Errorf("--%s is a flag of every command: %v", name, got)
		}
		if got := serve.PersistentFlags().Lookup(name) != nil; got == forEach {
			t.Errorf("--%s is a flag of serve alone: %v", name, got)
		}
	}
	if serve.PersistentFlags().Lookup("http") == nil {
		t.Error("serve has lost a flag of its own")
	}
}

// A replica must not have a transaction that a power cut takes from the database.
func TestDurability(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]sqlite.Durability{
		"":                              sqlite.Full,
		"--durability=normal":           sqlite.Normal,
		"--replica=/tmp/replica":        sqlite.Strict,
		"--replica=s3://bucket/replica": sqlite.Strict,
		"--replica=/tmp/replica --durability=normal": sqlite.Normal,
	} {
		c, _, _, err := parse(strings.Fields(args)...)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.databaseDurability(); got != want {
			t.Errorf("%q: the durability is %q, want %q", args, got, want)
		}
	}
}

func TestRefusedSettings(t *testing.T) {
	t.Parallel()
	for flag, says := range map[string]string{
		"--retentionDays=0":            "--retentionDays must be from 1 to 36500",
		"--retentionDays=106752":       "--retentionDays must be from 1 to 36500",
		"--auditRetentionDays=999999":  "--auditRetentionDays must be from 1 to 36500",
		"--auditRetentionDays=0":       "--auditRetentionDays must be from 1 to 36500",
		"--retentionDays=abc":          `--retentionDays must be a whole number, not "abc"`,
		"--minFreeDisk=-1":             "--minFreeDisk must be at least 0",
		"--debugAddr=0.0.0.0:6060":     "--debugAddr must be a loopback address",
		"--debugAddr=127.0.0.1":        "--debugAddr must be a loopback address",
		"--durability=half":            "--durability",
		"--webhookAllow=everything":    "--webhookAllow",
		"--log=xml":                    "--log must be text or json",
		"--deliveriesInFlight=0":       "--deliveriesInFlight must be from 1",
		"--deliveriesPerEndpoint=1001": "--deliveriesPerEndpoint must be from 1 to 1000",
		"--maxKeys=0":                  "--maxKeys must be from 1 to 100000",
		"--maxWebhooks=100001":         "--maxWebhooks must be from 1 to 100000",
		"--maxInbound=-1":              "--maxInbound must be from 1 to 100000",
		"--maxMembers=0":               "--maxMembers must be from 1 to 100000",
		"--encryptionEnv=":             "--encryptionEnv must name an environment variable",
		"--encryptionEnv=NOT_THERE":    "the environment variable NOT_THERE is not set",
	} {
		if _, _, _, err := parse("serve", flag); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s is answered with %v, not %q", flag, err, says)
		}
	}
	if _, _, _, err := parse("serve", "--debugAddr=[::1]:6060"); err != nil {
		t.Error(err)
	}
}

func TestBounds(t *testing.T) {
	t.Parallel()
	c, _, _, err := parse("key", "create", "--maxKeys=1", "--maxWebhooks=2", "--maxInbound=3", "--maxMembers=4")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := c.app(nil, nil, nil).Bounds, (tenant.Bounds{Keys: 1, Webhooks: 2, Inbound: 3, Members: 4}); got != want {
		t.Errorf("the bounds are %+v", got)
	}
	if c, _, _, err = parse("serve"); err != nil || c.bounds != (tenant.Bounds{Keys: 100, Webhooks: 100, Inbound: 100, Members: 500}) {
		t.Errorf("the bounds are %+v by default (%v)", c.bounds, err)
	}
}

func TestExitCode(t *testing.T) {
	t.Parallel()
	if got := ExitCode(fmt.Errorf("serving: %w", replica.ErrFenced)); got != 3 {
		t.Errorf("a server that lost its lease exits with %d", got)
	}
	if got := ExitCode(errors.New("anything else")); got != 1 {
		t.Errorf("a failure exits with %d", got)
	}
}
