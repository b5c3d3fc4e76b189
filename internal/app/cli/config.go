package cli

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/pocketbase/pocketbase"
	"github.com/pocketbase/pocketbase/core"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"contactbase/cmd"
	"contactbase/internal/app"
	"contactbase/internal/broker"
	"contactbase/internal/delivery"
	"contactbase/internal/replica"
	"contactbase/internal/safehttp"
	"contactbase/internal/script"
	"contactbase/internal/settings"
	"contactbase/internal/sqlite"
	"contactbase/internal/tenant"
	"contactbase/internal/upgrade"
)

// config holds the settings from the command line, the environment and the file.
type config struct {
	version              string
	settings             *settings.Settings
	dataDir              string            // the demo's; "" for PocketBase's default
	given                string            // the path of the data directory before links are resolved
	served               map[string]string // see readServed
	durability           string
	allowPrivateWebhooks bool
	webhookAllow         networks
	portalAllowPrivate   bool
	webhookProxy         string // "" for none
	bounds               tenant.Bounds
	retentionDays        int
	auditRetentionDays   int
	metricsAddr          string // "" for none
	debugAddr            string // "" for none
	minFreeDisk          int    // MiB
	inFlight             int    // deliveries
	perEndpoint          int    // deliveries per endpoint
	nats                 broker.Options
	replica              replica.Config
	scripts              script.Config
	log                  string // text or json
	logLevel             level
}

// newConfig reads the environment and the settings file, except for the demo. Flags are read later, once PocketBase
// has created its command.
func newConfig(version string, args []string) (*config, error) {
	if len(args) > 0 && args[0] == cmd.DemoName {
		dataDir := filepath.Join(os.TempDir(), "contactbase-demo-"+rand.Text()) // PocketBase creates it if needed
		return &config{version: version, settings: settings.None(), dataDir: dataDir}, nil
	}
	found, err := settings.Read(args, os.Environ())
	return &config{version: version, settings: found}, err
}

// open returns PocketBase for the data directory. If its path has links, they are resolved once: what walks the
// directory or creates folders beside it does not follow them.
func (c *config) open(connect core.DBConnectFunc) *pocketbase.PocketBase {
	pb := pocketbase.NewWithConfig(c.framework(connect))
	c.given = pb.DataDir()
	resolved, err := filepath.EvalSymlinks(c.given)
	if err != nil || resolved == filepath.Clean(c.given) { // the directory may not exist yet
		return pb
	}
	timeout, _ := pb.RootCmd.PersistentFlags().GetInt("queryTimeout") // PocketBase defines it
	pb.App = core.NewBaseApp(core.BaseAppConfig{
		DataDir: resolved, DBConnect: connect,
		IsDev: pb.IsDev(), EncryptionEnv: pb.EncryptionEnv(), QueryTimeout: time.Duration(timeout) * time.Second,
	})
	return pb
}

// framework returns PocketBase's configuration, which opens databases with connect. It ignores invalid values:
// parse rejects them.
func (c *config) framework(connect core.DBConnectFunc) pocketbase.Config {
	framework := pocketbase.Config{
		DefaultDataDir:       cmp.Or(c.dataDir, c.settings.Value("dir")),
		DefaultEncryptionEnv: c.settings.Value("encryptionEnv"),
		DBConnect:            connect,
	}
	framework.DefaultDev, _ = strconv.ParseBool(c.settings.Value("dev"))
	seconds, _ := strconv.Atoi(c.settings.Value("queryTimeout"))
	framework.DefaultQueryTimeout = time.Duration(seconds) * time.Second
	return framework
}

// parse makes all settings flags of serve, except those that every command has, and reads them from args, the
// environment and the file. It runs before the commands, because PocketBase opens the database first. A setting has
// the same value for all commands, though most have no flag for it.
func (c *config) parse(root, serve *cobra.Command, args []string) error {
	root.Use, root.Short, root.Version = "contactbase", "The contacts API of a CRM", c.version
	root.SetErr(os.Stderr) // PocketBase's writer colours the output and prints it to stdout
	own := pflag.NewFlagSet("", pflag.ContinueOnError)
	c.addFlags(own)
	own.AddFlagSet(root.PersistentFlags())
	root.ResetFlags()
	for _, name := range forAll {
		root.PersistentFlags().AddFlag(own.Lookup(name))
	}
	own.VisitAll(func(flag *pflag.Flag) {
		if !slices.Contains(forAll, flag.Name) {
			serve.PersistentFlags().AddFlag(flag)
		}
	})
	own.Lookup("dir").Hidden = c.dataDir != "" // the demo refuses it
	for _, set := range []*pflag.FlagSet{own, serve.PersistentFlags()} {
		if err := c.settings.Apply(set); err != nil {
			return err
		}
	}
	own.ParseErrorsAllowlist.UnknownFlags = true // flags of the commands
	own.Usage = func() {}
	if err := own.Parse(args); err != nil && !errors.Is(err, pflag.ErrHelp) {
		return cmd.ExplainFlagError(err)
	}
	c.follow(own)
	if err := c.settings.Check(own.Lookup("encryptionEnv").Value.String()); err != nil {
		return err
	}
	if c.dataDir != "" && own.Changed("dir") {
		return errors.New("the demo creates its own directory: run contactbase demo without --dir")
	}
	return c.check(own)
}

// connect returns the function that opens databases.
func (c *config) connect() core.DBConnectFunc { return sqlite.Connect(c.databaseDurability()) }

// databaseDurability returns the durability of data.db. A replica must not have a transaction that a power cut takes
// from the database.
func (c *config) databaseDurability() sqlite.Durability {
	durability, _ := sqlite.ParseDurability(c.durability) // checked by parse
	if durability == sqlite.Full && c.replica.URL != "" {
		return sqlite.Strict
	}
	return durability
}

// openReplica returns the replica of a data directory, nil if none is configured. The demo has none.
func (c *config) openReplica(dataDir string) (*replica.Replica, error) {
	if c.dataDir != "" {
		return nil, nil
	}
	opened, err := replica.Open(c.replica, dataDir)
	if err != nil {
		return nil, fmt.Errorf("--replica: %w", err)
	}
	return opened, nil
}

// cleanUp deletes the demo's directory.
func (c *config) cleanUp() {
	if c.dataDir != "" {
		_ = os.RemoveAll(c.dataDir)
	}
}

// minFree returns --minFreeDisk in bytes.
func (c *config) minFree() uint64 { return uint64(c.minFreeDisk) << 20 }

// reach returns which addresses webhooks may reach.
func (c *config) reach() safehttp.Options {
	allow := c.webhookAllow
	if c.dataDir != "" { // the demo has its own receiver
		allow = append(allow, netip.MustParsePrefix("127.0.0.0/8"))
	}
	options := safehttp.Options{AllowPrivate: c.allowPrivateWebhooks, Allow: allow}
	if c.webhookProxy != "" {
		options.Proxy, _ = safehttp.ParseProxy(c.webhookProxy) // checked by parse
	}
	return options
}

// localSender returns the sender for events that a developer forwards to their own machine.
func (c *config) localSender() *delivery.Sender {
	return delivery.NewSender(safehttp.New(safehttp.Options{AllowPrivate: true}), c.version)
}

// app returns the configuration of the program.
func (c *config) app(public fs.FS, folder *upgrade.Upgrade, copied *replica.Replica) app.Config {
	return app.Config{
		Version:      c.version,
		Given:        c.given,
		Bounds:       c.bounds,
		Reach:        c.reach(),
		TrustMembers: c.portalAllowPrivate,
		InFlight:     c.inFlight,
		PerEndpoint:  c.perEndpoint,
		NATS:         c.nats,
		Retention:    days(c.retentionDays),
		Audit:        days(c.auditRetentionDays),
		MetricsAddr:  c.metricsAddr,
		DebugAddr:    c.debugAddr,
		MinFreeDisk:  c.minFree(),
		Log:          c.logHandler(),
		Public:       public,
		Upgrade:      folder,
		Replica:      copied,
	}
}

func days(n int) time.Duration { return time.Duration(n) * 24 * time.Hour }

// logHandler returns the handler that prints the log, nil for none: the demo prints other things.
func (c *config) logHandler() slog.Handler {
	if c.dataDir != "" {
		return nil
	}
	return app.NewLog(os.Stdout, c.log == "json", c.logLevel.Level)
}
