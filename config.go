package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
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
	"contactbase/internal/settings"
	"contactbase/internal/sqlite"
	"contactbase/internal/upgrade"
)

// version is set by the linker: -ldflags "-X main.version=1.2.3".
var version = "dev"

// Beyond these limits deliveries would take gigabytes of memory, and an endpoint all the attention.
const (
	mostInFlight    = 65_536
	mostPerEndpoint = 1_000
)

// config is what the command line, the environment and the file of settings say.
type config struct {
	settings             *settings.Settings
	dataDir              string // of the demo; "" for PocketBase's default
	durability           string
	allowPrivateWebhooks bool
	webhookAllow         networks
	retentionDays        int
	metricsAddr          string // "" for none
	debugAddr            string // "" for none
	minFreeDisk          int    // MiB
	inFlight             int    // deliveries
	perEndpoint          int    // of those
	nats                 broker.Options
	replica              replica.Config
	log                  string // text or json
	logLevel             slog.Level
}

// newConfig reads the environment and the file of settings, which are not for the demo. The flags come later, once
// PocketBase has made its command.
func newConfig(args []string) (*config, error) {
	if len(args) > 0 && args[0] == cmd.DemoName {
		dataDir := filepath.Join(os.TempDir(), "contactbase-demo-"+rand.Text()) // PocketBase makes it, if it comes to that
		return &config{settings: settings.None(), dataDir: dataDir}, nil
	}
	found, err := settings.Read(args, os.Environ())
	return &config{settings: found}, err
}

// framework is what PocketBase is told. It opens databases by connect. What it does not understand of the settings, parse
// refuses.
func (c *config) framework(connect core.DBConnectFunc) pocketbase.Config {
	told := pocketbase.Config{
		DefaultDataDir:       c.dataDir,
		DefaultEncryptionEnv: c.settings.Value("encryptionEnv"),
		DBConnect:            connect,
	}
	if told.DefaultDataDir == "" {
		told.DefaultDataDir = c.settings.Value("dir")
	}
	told.DefaultDev, _ = strconv.ParseBool(c.settings.Value("dev"))
	seconds, _ := strconv.Atoi(c.settings.Value("queryTimeout"))
	told.DefaultQueryTimeout = time.Duration(seconds) * time.Second
	return told
}

// parse adds the flags of this program to PocketBase's and reads all that are settings, those of serve among them. It
// comes before the commands run: PocketBase opens the database first.
func (c *config) parse(root, serve *cobra.Command, args []string) error {
	root.Use, root.Short, root.Version = "contactbase", "The contacts API of a CRM", version
	root.SetErr(os.Stderr) // PocketBase's writer colours what it is given, and prints it to stdout
	flags := root.PersistentFlags()
	c.addFlags(flags)
	for _, set := range []*pflag.FlagSet{flags, serve.PersistentFlags()} {
		if err := c.settings.Apply(set); err != nil {
			return err
		}
	}
	if err := root.ParseFlags(args); err != nil && !errors.Is(err, pflag.ErrHelp) {
		return cmd.WordFlagError(err)
	}
	if err := c.settings.Check(flags.Lookup("encryptionEnv").Value.String()); err != nil {
		return err
	}
	return c.check(flags)
}

func (c *config) addFlags(flags *pflag.FlagSet) {
	flags.String(settings.FileFlag, "", "a YAML file of settings, by the names of the flags (default none)")
	flags.StringVar(&c.durability, "durability", "full", "what a power cut may cost: full = nothing that was answered, normal = the last commits")
	flags.BoolVar(&c.allowPrivateWebhooks, "allowPrivateWebhooks", false, "let webhooks reach private and loopback addresses")
	flags.Var(&c.webhookAllow, "webhookAllow", "private networks that webhooks may reach, such as 10.0.0.0/8,192.168.1.7/32 (default none)")
	flags.IntVar(&c.retentionDays, "retentionDays", 30, "how many days finished events, deliveries and inbound requests are kept")
	flags.StringVar(&c.metricsAddr, "metricsAddr", "", "where to serve Prometheus metrics, /livez and /readyz, such as 127.0.0.1:9090 (default nowhere)")
	flags.StringVar(&c.debugAddr, "debugAddr", "", "where to serve profiles, on this machine alone, such as 127.0.0.1:6060 (default nowhere)")
	flags.IntVar(&c.minFreeDisk, "minFreeDisk", 256, "how many MiB the disk has to have free for /readyz to say so")
	flags.IntVar(&c.inFlight, "deliveriesInFlight", delivery.DefaultInFlight, "how many deliveries are in flight at most, though no more than a quarter of the files that the process may open")
	flags.IntVar(&c.perEndpoint, "deliveriesPerEndpoint", delivery.DefaultPerEndpoint, "how many of them are in flight to a webhook at most")
	flags.StringVar(&c.nats.URL, "nats", "", "a NATS server such as nats://127.0.0.1:4222, to whose streams webhooks may publish (default none)")
	flags.StringVar(&c.nats.Credentials, "natsCreds", "", "a file of credentials for NATS (default none)")
	flags.StringSliceVar(&c.nats.Subjects, "natsSubjects", []string{broker.DefaultSubjects}, "the subjects that webhooks may publish to, with * and >")
	flags.StringVar(&c.replica.URL, "replica", "", "where serve keeps a copy of the databases: s3://bucket/folder?endpoint=https://… or file:///folder (default nowhere)")
	mode := (*string)(&c.replica.Mode)
	flags.StringVar(mode, "replicaMode", "async", "when a write is answered: async = at once, sync = when the replica has it")
	flags.DurationVar(&c.replica.Interval, "replicaInterval", time.Second, "how often the replica is brought up to date")
	flags.DurationVar(&c.replica.Timeout, "replicaPatience", 5*time.Second, "how long an answer waits for the replica with --replicaMode=sync")
	flags.Var(&c.replica.AcceptLoss, "replicaAcceptLoss", "accept the loss of acknowledged writes in this range, for example 1/57..2/500; copy the value from the error message (default: accept no loss)")
	flags.DurationVar(&c.replica.Lease, "lease", 0, "after how long another machine with the same --replica in s3:// takes over from one that is silent (default never)")
	flags.StringVar(&c.log, cmd.LogFlag, "text", "how serve prints its log: text or json")
	flags.TextVar(&c.logLevel, "logLevel", slog.LevelInfo, "from which level on serve prints its log: debug, info, warn or error")
}

// check refuses values that make no sense.
func (c *config) check(flags *pflag.FlagSet) error {
	name := func(flag string) string { return c.settings.Name(flags.Lookup(flag)) }
	if err := checkEncryptionEnv(flags.Lookup("encryptionEnv"), name("encryptionEnv")); err != nil {
		return err
	}
	if _, err := sqlite.ParseDurability(c.durability); err != nil {
		return fmt.Errorf("%s: %w", name("durability"), err)
	}
	if c.debugAddr != "" && !isLoopback(c.debugAddr) {
		return fmt.Errorf("%s must be a loopback address such as 127.0.0.1:6060", name("debugAddr"))
	}
	if c.retentionDays < 1 {
		return fmt.Errorf("%s must be at least 1", name("retentionDays"))
	}
	if c.minFreeDisk < 0 {
		return fmt.Errorf("%s must be at least 0", name("minFreeDisk"))
	}
	if c.inFlight < 1 || c.inFlight > mostInFlight {
		return fmt.Errorf("%s must be from 1 to %d", name("deliveriesInFlight"), mostInFlight)
	}
	if c.perEndpoint < 1 || c.perEndpoint > mostPerEndpoint {
		return fmt.Errorf("%s must be from 1 to %d", name("deliveriesPerEndpoint"), mostPerEndpoint)
	}
	if setting, err := c.nats.Check(); err != nil {
		return fmt.Errorf("%s %w", name(setting), err)
	}
	if err := c.replica.Check(name); err != nil {
		return err
	}
	if c.log != "text" && c.log != "json" {
		return fmt.Errorf("%s takes text or json, not %q", name(cmd.LogFlag), c.log)
	}
	return nil
}

// connect returns how databases are opened.
func (c *config) connect() core.DBConnectFunc {
	durability, _ := sqlite.ParseDurability(c.durability) // parse has checked it
	return sqlite.Connect(durability)
}

// openReplica returns the replica of a data folder, nil where there is none. The demo has none.
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

// cleanUp deletes the folder of the demo.
func (c *config) cleanUp() {
	if c.dataDir != "" {
		_ = os.RemoveAll(c.dataDir)
	}
}

// reach tells which addresses webhooks may lead to.
func (c *config) reach() safehttp.Options {
	allow := c.webhookAllow
	if c.dataDir != "" { // the demo has a receiver of its own
		allow = append(allow, netip.MustParsePrefix("127.0.0.0/8"))
	}
	return safehttp.Options{AllowPrivate: c.allowPrivateWebhooks, Allow: allow}
}

// localSender returns the sender of what a developer forwards to their own machine.
func (c *config) localSender() *delivery.Sender {
	return delivery.NewSender(safehttp.New(safehttp.Options{AllowPrivate: true}), version)
}

// app is the configuration of the program, which serves the public files and brings folders up to date.
func (c *config) app(public fs.FS, folder *upgrade.Upgrade, copied *replica.Replica) app.Config {
	return app.Config{
		Version:     version,
		Reach:       c.reach(),
		InFlight:    c.inFlight,
		PerEndpoint: c.perEndpoint,
		NATS:        c.nats,
		Retention:   time.Duration(c.retentionDays) * 24 * time.Hour,
		MetricsAddr: c.metricsAddr,
		DebugAddr:   c.debugAddr,
		MinFreeDisk: uint64(c.minFreeDisk) << 20,
		Log:         c.logHandler(),
		Public:      public,
		Upgrade:     folder,
		Replica:     copied,
	}
}

// logHandler returns where the log is printed, nil for nowhere: the demo shows other things.
func (c *config) logHandler() slog.Handler {
	if c.dataDir != "" {
		return nil
	}
	return app.NewLog(os.Stdout, c.log == "json", c.logLevel)
}

// networks are the value of a flag: networks as CIDR, separated by commas or spaces.
type networks []netip.Prefix

// Set implements pflag.Value.
func (n *networks) Set(list string) error {
	var prefixes networks
	for _, item := range strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' }) {
		prefix, err := netip.ParsePrefix(item)
		if err != nil {
			return fmt.Errorf("%q is no network such as 10.0.0.0/8", item)
		}
		prefixes = append(prefixes, prefix)
	}
	*n = prefixes
	return nil
}

// String implements pflag.Value.
func (n *networks) String() string {
	items := make([]string, len(*n))
	for i, prefix := range *n {
		items[i] = prefix.String()
	}
	return strings.Join(items, ",")
}

// Type implements pflag.Value.
func (n *networks) Type() string { return "networks" }

// encryptionKeyLength is that of a key of AES-256, in bytes.
const encryptionKeyLength = 32

// checkEncryptionEnv checks the variable that PocketBase's flag names, and tells in its help who needs it. Errors call the
// setting by its given name.
func checkEncryptionEnv(flag *pflag.Flag, setting string) error {
	flag.Usage = "the environment variable that holds the encryption key of 32 characters; where the folder is encrypted\nevery command needs it (default none)"
	name := flag.Value.String()
	if name == "" && flag.Changed {
		return fmt.Errorf("%s names no variable; one that holds exactly %d characters belongs there", setting, encryptionKeyLength)
	}
	if name == "" {
		return nil
	}
	key, isSet := os.LookupEnv(name)
	if !isSet {
		return fmt.Errorf("%s: the environment has no variable %s; it must hold exactly %d characters", setting, name, encryptionKeyLength)
	}
	if len(key) != encryptionKeyLength {
		return fmt.Errorf("%s: the variable %s must hold exactly %d characters, and it has %d", setting, name, encryptionKeyLength, len(key))
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
