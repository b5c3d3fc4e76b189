package cli

import (
	"fmt"
	"net"
	"os"

	"github.com/spf13/pflag"

	"contactbase/cmd"
	"contactbase/internal/sqlite"
)

// Beyond these limits deliveries would take gigabytes of memory, and an endpoint all the attention.
const (
	mostInFlight    = 65_536
	mostPerEndpoint = 1_000
)

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

// encryptionKeyLength is that of a key of AES-256, in bytes.
const encryptionKeyLength = 32

// checkEncryptionEnv checks the variable that PocketBase's flag names, and tells in its help who needs it. Errors call the
// setting by its given name.
func checkEncryptionEnv(flag *pflag.Flag, setting string) error {
	flag.Usage = "the environment variable that holds the encryption key of 32 characters; where the data directory is encrypted\nevery command needs it (default none)"
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

// isLoopback reports whether only this machine can reach the address.
func isLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
