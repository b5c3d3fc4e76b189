package cli

import (
	"fmt"
	"net"
	"os"

	"github.com/spf13/pflag"

	"contactbase/cmd"
	"contactbase/internal/replica"
	"contactbase/internal/safehttp"
	"contactbase/internal/sqlite"
	"contactbase/internal/tenant"
)

// Beyond these limits, deliveries would need gigabytes of memory, or one endpoint would crowd out the others.
const (
	mostInFlight    = 65_536
	mostPerEndpoint = 1_000
)

// mostRecords is the largest bound on the records of a tenant. Each new record is counted with the others.
const mostRecords = 100_000

// mostRuntimes is how many JavaScript runtimes may be kept ready. Each takes about a megabyte.
const mostRuntimes = 1_000

// mostDays is a century. More than 106,751 days exceed time.Duration.
const mostDays = 36_500

func (c *config) checkScripts(name func(flag string) string) error {
	if c.scripts.Pool < 0 || c.scripts.Pool > mostRuntimes {
		return fmt.Errorf("%s must be from 0 to %d", name("hooksPool"), mostRuntimes)
	}
	if _, err := os.Stat(c.scripts.Hooks); c.scripts.Hooks != "" && err != nil {
		return fmt.Errorf("%s: %w", name("hooksDir"), err)
	}
	return nil
}

// check returns an error if a setting is invalid.
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
	if c.retentionDays < 1 || c.retentionDays > mostDays {
		return fmt.Errorf("%s must be from 1 to %d", name("retentionDays"), mostDays)
	}
	if c.auditRetentionDays < 1 || c.auditRetentionDays > mostDays {
		return fmt.Errorf("%s must be from 1 to %d", name("auditRetentionDays"), mostDays)
	}
	if c.minFreeDisk < 0 {
		return fmt.Errorf("%s must be at least 0", name("minFreeDisk"))
	}
	if err := c.checkDeliveries(name); err != nil {
		return err
	}
	if err := checkBounds(c.bounds, name); err != nil {
		return err
	}
	if setting, err := c.nats.Check(); err != nil {
		return fmt.Errorf("%s %w", name(setting), err)
	}
	if err := c.replica.Check(name); err != nil {
		return err
	}
	if c.replica.Mode == replica.Sync && c.durability != string(sqlite.Full) {
		return fmt.Errorf("%s: sync requires %s to be full, because a power cut could otherwise lose acknowledged writes",
			name("replicaMode"), name("durability"))
	}
	if err := c.checkScripts(name); err != nil {
		return err
	}
	if c.log != "text" && c.log != "json" {
		return fmt.Errorf("%s must be text or json, not %q", name(cmd.LogFlag), c.log)
	}
	return nil
}

// checkDeliveries checks the settings of deliveries. name returns a setting as errors call it.
func (c *config) checkDeliveries(name func(flag string) string) error {
	if c.inFlight < 1 || c.inFlight > mostInFlight {
		return fmt.Errorf("%s must be from 1 to %d", name("deliveriesInFlight"), mostInFlight)
	}
	if c.perEndpoint < 1 || c.perEndpoint > mostPerEndpoint {
		return fmt.Errorf("%s must be from 1 to %d", name("deliveriesPerEndpoint"), mostPerEndpoint)
	}
	if _, err := safehttp.ParseProxy(c.webhookProxy); err != nil && c.webhookProxy != "" {
		return fmt.Errorf("%s %w", name("webhookProxy"), err)
	}
	return nil
}

// checkBounds checks the bounds on the records of a tenant. name returns a setting as errors call it.
func checkBounds(bounds tenant.Bounds, name func(flag string) string) error {
	for flag, most := range map[string]int{
		"maxKeys": bounds.Keys, "maxWebhooks": bounds.Webhooks,
		"maxInbound": bounds.Inbound, "maxMembers": bounds.Members,
	} {
		if most < 1 || most > mostRecords {
			return fmt.Errorf("%s must be from 1 to %d", name(flag), mostRecords)
		}
	}
	return nil
}

// encryptionKeyLength is the length of an AES-256 key, in bytes.
const encryptionKeyLength = 32

// checkEncryptionEnv checks the environment variable that PocketBase's flag names, and improves the flag's help.
// Errors call the setting by the given name.
func checkEncryptionEnv(flag *pflag.Flag, setting string) error {
	flag.Usage = "the environment variable with the encryption key of 32 characters; every command needs it\n" +
		"if the data directory is encrypted (default none)"
	name := flag.Value.String()
	if name == "" && flag.Changed {
		return fmt.Errorf("%s must name an environment variable that holds exactly %d characters",
			setting, encryptionKeyLength)
	}
	if name == "" {
		return nil
	}
	key, isSet := os.LookupEnv(name)
	if !isSet {
		return fmt.Errorf("%s: the environment variable %s is not set; it must hold exactly %d characters",
			setting, name, encryptionKeyLength)
	}
	if len(key) != encryptionKeyLength {
		return fmt.Errorf("%s: the environment variable %s must hold exactly %d characters, not %d",
			setting, name, encryptionKeyLength, len(key))
	}
	return nil
}

// isLoopback reports whether only this machine can reach the address.
func isLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
