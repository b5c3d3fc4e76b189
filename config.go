package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/pocketbase/pocketbase/core"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"contactbase/cmd"
	"contactbase/internal/app"
	"contactbase/internal/delivery"
	"contactbase/internal/safehttp"
	"contactbase/internal/sqlite"
	"contactbase/internal/upgrade"
)

// version is set by the linker: -ldflags "-X main.version=1.2.3".
var version = "dev"

// webhookAllowEnv lists networks that webhooks may reach although they are private, as CIDR, separated by commas.
const webhookAllowEnv = "CONTACTBASE_WEBHOOK_ALLOW"

// config is what the flags and the environment say.
type config struct {
	dataDir              string // of the demo; "" for PocketBase's default
	durability           string
	allowPrivateWebhooks bool
	retentionDays        int
	metricsAddr          string // "" for none
	debugAddr            string // "" for none
	webhookAllow         []netip.Prefix
}

// newConfig reads the environment. The flags come later, once PocketBase has made its command.
func newConfig(args []string) (*config, error) {
	c := &config{}
	var err error
	if c.webhookAllow, err = parsePrefixes(os.Getenv(webhookAllowEnv)); err != nil {
		return nil, fmt.Errorf("%s: %w", webhookAllowEnv, err)
	}
	if len(args) > 0 && args[0] == cmd.DemoName {
		c.dataDir = filepath.Join(os.TempDir(), "contactbase-demo-"+rand.Text())      // PocketBase makes it, if it comes to that
		c.webhookAllow = append(c.webhookAllow, netip.MustParsePrefix("127.0.0.0/8")) // the demo's own receiver
	}
	return c, nil
}

// parse adds the flags of this program to PocketBase's and reads them. It comes before the commands run: PocketBase
// opens the database first.
func (c *config) parse(root *cobra.Command, args []string) error {
	root.Use, root.Short, root.Version = "contactbase", "The contacts API of a CRM", version
	root.SetErr(os.Stderr) // PocketBase's writer colours what it is given, and prints it to stdout
	flags := root.PersistentFlags()
	flags.StringVar(&c.durability, "durability", "full", "what a power cut may cost: full = nothing that was answered, normal = the last commits")
	flags.BoolVar(&c.allowPrivateWebhooks, "allowPrivateWebhooks", false, "let webhooks reach private and loopback addresses")
	flags.IntVar(&c.retentionDays, "retentionDays", 30, "how many days finished events, deliveries and inbound requests are kept")
	flags.StringVar(&c.metricsAddr, "metricsAddr", "", "where to serve Prometheus metrics, such as 127.0.0.1:9090 (default nowhere)")
	flags.StringVar(&c.debugAddr, "debugAddr", "", "where to serve profiles, on this machine alone, such as 127.0.0.1:6060 (default nowhere)")
	if err := root.ParseFlags(args); err != nil && !errors.Is(err, pflag.ErrHelp) {
		return cmd.WordFlagError(err)
	}
	if err := checkEncryptionEnv(flags.Lookup("encryptionEnv")); err != nil {
		return err
	}
	if _, err := sqlite.ParseDurability(c.durability); err != nil {
		return fmt.Errorf("--durability: %w", err)
	}
	if c.debugAddr != "" && !isLoopback(c.debugAddr) {
		return fmt.Errorf("--debugAddr must be a loopback address such as 127.0.0.1:6060")
	}
	if c.retentionDays < 1 {
		return fmt.Errorf("--retentionDays must be at least 1")
	}
	return nil
}

// connect returns how databases are opened.
func (c *config) connect() core.DBConnectFunc {
	durability, _ := sqlite.ParseDurability(c.durability) // parse has checked it
	return sqlite.Connect(durability)
}

// cleanUp deletes the folder of the demo.
func (c *config) cleanUp() {
	if c.dataDir != "" {
		_ = os.RemoveAll(c.dataDir)
	}
}

// reach tells which addresses webhooks may lead to.
func (c *config) reach() safehttp.Options {
	return safehttp.Options{AllowPrivate: c.allowPrivateWebhooks, Allow: c.webhookAllow}
}

// localSender returns the sender of what a developer forwards to their own machine.
func (c *config) localSender() *delivery.Sender {
	return delivery.NewSender(safehttp.New(safehttp.Options{AllowPrivate: true}), version)
}

// app is the configuration of the program, which serves the public files and brings folders up to date.
func (c *config) app(public fs.FS, folder *upgrade.Upgrade) app.Config {
	return app.Config{
		Version:     version,
		Reach:       c.reach(),
		Retention:   time.Duration(c.retentionDays) * 24 * time.Hour,
		MetricsAddr: c.metricsAddr,
		DebugAddr:   c.debugAddr,
		Public:      public,
		Upgrade:     folder,
	}
}

func parsePrefixes(list string) ([]netip.Prefix, error) {
	var prefixes []netip.Prefix
	for _, item := range strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' }) {
		prefix, err := netip.ParsePrefix(item)
		if err != nil {
			return nil, fmt.Errorf("%q is no network such as 10.0.0.0/8", item)
		}
		prefixes = append(prefixes, prefix)
	}
	return prefixes, nil
}

// encryptionKeyLength is that of a key of AES-256, in bytes.
const encryptionKeyLength = 32

// checkEncryptionEnv checks the variable that PocketBase's flag names, and tells in its help who needs it.
func checkEncryptionEnv(flag *pflag.Flag) error {
	flag.Usage = "the environment variable that holds the encryption key of 32 characters; where the folder is encrypted\nevery command needs it (default none)"
	name := flag.Value.String()
	if name == "" && flag.Changed {
		return fmt.Errorf("--encryptionEnv names no variable; one that holds exactly %d characters belongs there", encryptionKeyLength)
	}
	if name == "" {
		return nil
	}
	key, isSet := os.LookupEnv(name)
	if !isSet {
		return fmt.Errorf("--encryptionEnv: the environment has no variable %s; it must hold exactly %d characters", name, encryptionKeyLength)
	}
	if len(key) != encryptionKeyLength {
		return fmt.Errorf("--encryptionEnv: the variable %s must hold exactly %d characters, and it has %d", name, encryptionKeyLength, len(key))
	}
	return nil
}

// isLoopback tells whether only this machine can reach the address.
func isLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
