package cli

import (
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"contactbase/cmd"
	"contactbase/internal/broker"
	"contactbase/internal/delivery"
	"contactbase/internal/settings"
	"contactbase/internal/tenant"
)

// forAll are the settings that are flags of every command.
var forAll = []string{"dir", "encryptionEnv", settings.FileFlag}

func (c *config) addFlags(flags *pflag.FlagSet) {
	flags.String(settings.FileFlag, "", "a YAML file of settings; its keys are the names of the flags (default none)")
	flags.StringVar(&c.durability, "durability", "full",
		"what a power cut may lose: full = nothing that was acknowledged, normal = the last commits")
	flags.BoolVar(&c.allowPrivateWebhooks, "allowPrivateWebhooks", false,
		"let webhooks reach private and loopback addresses")
	flags.Var(&c.webhookAllow, "webhookAllow",
		"private networks that webhooks may reach, such as 10.0.0.0/8,192.168.1.7/32 (default none)")
	flags.StringVar(&c.webhookProxy, "webhookProxy", "",
		"a proxy that all webhooks go through, such as http://proxy.example.com:3128, https://… or socks5://…; "+
			"set one with a password by its environment variable (default none)")
	flags.BoolVar(&c.portalAllowPrivate, "portalAllowPrivate", false, "let the webhooks of "+
		"tenants' members reach the private addresses that --webhookAllow and --allowPrivateWebhooks open")
	flags.IntVar(&c.bounds.Keys, "maxKeys", tenant.DefaultBounds.Keys, "how many active API keys a tenant may have")
	flags.IntVar(&c.bounds.Webhooks, "maxWebhooks", tenant.DefaultBounds.Webhooks,
		"how many webhooks a tenant may have, at most 200")
	flags.IntVar(&c.bounds.Inbound, "maxInbound", tenant.DefaultBounds.Inbound,
		"how many inbound webhooks a tenant may have")
	flags.IntVar(&c.bounds.Members, "maxMembers", tenant.DefaultBounds.Members,
		"how many members a tenant may have, without portal links")
	flags.IntVar(&c.retentionDays, "retentionDays", 30,
		"how many days finished events, deliveries and inbound requests are kept")
	flags.IntVar(&c.auditRetentionDays, "auditRetentionDays", 365, "how many days entries of the audit log are kept")
	flags.StringVar(&c.metricsAddr, "metricsAddr", "",
		"where to serve Prometheus metrics, /livez and /readyz, such as 127.0.0.1:9090 (default nowhere)")
	flags.StringVar(&c.debugAddr, "debugAddr", "",
		"a loopback address where to serve profiles, such as 127.0.0.1:6060 (default nowhere)")
	flags.IntVar(&c.minFreeDisk, "minFreeDisk", 256,
		"the free disk space that /readyz requires and that uploads leave, in MiB")
	flags.IntVar(&c.inFlight, "deliveriesInFlight", delivery.DefaultInFlight,
		"the maximum of deliveries in flight; at most a quarter of the files that the process may open")
	flags.IntVar(&c.perEndpoint, "deliveriesPerEndpoint", delivery.DefaultPerEndpoint,
		"the maximum of deliveries in flight to one webhook")
	flags.StringVar(&c.nats.URL, "nats", "",
		"a NATS server, such as nats://127.0.0.1:4222, to whose streams webhooks may publish (default none)")
	flags.StringVar(&c.nats.Credentials, "natsCreds", "", "a credentials file for NATS (default none)")
	flags.StringSliceVar(&c.nats.Subjects, "natsSubjects", []string{broker.DefaultSubjects},
		"the subjects that webhooks may publish to, with * and >")
	c.addReplicaFlags(flags)
	c.addExtensionFlags(flags)
	flags.StringVar(&c.log, cmd.LogFlag, "text", "the format of serve's log: text or json")
	flags.Var(&c.logLevel, "logLevel", "the lowest level that serve logs: debug, info, warn or error")
}

// addReplicaFlags adds the flags of the replica and of failover.
func (c *config) addReplicaFlags(flags *pflag.FlagSet) {
	flags.StringVar(&c.replica.URL, "replica", "", "where serve keeps a copy of the databases: "+
		"s3://bucket/folder?endpoint=https://… or file:///folder (default nowhere)")
	mode := (*string)(&c.replica.Mode)
	flags.StringVar(mode, "replicaMode", "async",
		"when a write is acknowledged: async = immediately, sync = once the replica has it")
	flags.DurationVar(&c.replica.Interval, "replicaInterval", time.Second, "how often the replica is updated")
	flags.DurationVar(&c.replica.Timeout, "replicaPatience", 5*time.Second,
		"how long a response waits for the replica with --replicaMode=sync")
	flags.Var(&c.replica.AcceptLoss, "replicaAcceptLoss", "accept the loss of acknowledged writes in this range, "+
		"for example 1/57..2/500; copy the value from the error message (default: accept no loss)")
	flags.DurationVar(&c.replica.Lease, "lease", 0, "after how long another machine "+
		"with the same --replica in s3:// takes over from an unresponsive one (default never)")
}

// addExtensionFlags adds the flags of extensions in JavaScript.
func (c *config) addExtensionFlags(flags *pflag.FlagSet) {
	flags.StringVar(&c.scripts.Hooks, "hooksDir", "",
		"the folder of hooks in JavaScript (default pb_hooks beside the data directory)")
	flags.BoolVar(&c.scripts.Watch, "hooksWatch", false, "restart when a file of hooks changes; not on Windows")
	flags.IntVar(&c.scripts.Pool, "hooksPool", 15, "how many JavaScript runtimes are kept ready for hooks, in all")
	flags.StringVar(&c.scripts.Migrations, "migrationsDir", "",
		"the folder of migrations in JavaScript (default pb_migrations beside the data directory)")
	flags.BoolVar(&c.scripts.Automigrate, "automigrate", false,
		"write changes of collections in the dashboard as migrations in JavaScript")
}

// addSettings adds to each command the flags of the settings that it uses. They share their values with
// the flags of serve.
func addSettings(command *cobra.Command, serve *pflag.FlagSet) {
	for _, name := range cmd.SettingsOf(command) {
		command.Flags().AddFlag(serve.Lookup(name))
	}
	for _, sub := range command.Commands() {
		addSettings(sub, serve)
	}
}

// level is the value of a flag, info by default. It is shown in lower case, as it is documented.
type level struct{ slog.Level }

func (l *level) Set(name string) error {
	if l.UnmarshalText([]byte(name)) != nil {
		return errors.New("must be debug, info, warn or error")
	}
	return nil
}

func (l *level) String() string { return strings.ToLower(l.Level.String()) }

func (l *level) Type() string { return "string" }

// networks is the value of a flag: CIDR networks, separated by commas or spaces.
type networks []netip.Prefix

func (n *networks) Set(list string) error {
	var prefixes networks
	for _, item := range strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' }) {
		prefix, err := netip.ParsePrefix(item)
		if err != nil {
			return fmt.Errorf("%q is not a network; write it as an address and a prefix length, for example 10.0.0.0/8", item)
		}
		prefixes = append(prefixes, prefix)
	}
	*n = prefixes
	return nil
}

func (n *networks) String() string {
	items := make([]string, len(*n))
	for i, prefix := range *n {
		items[i] = prefix.String()
	}
	return strings.Join(items, ",")
}

func (n *networks) Type() string { return "networks" }
