package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"

	"github.com/pocketbase/pocketbase/core"
	"github.com/spf13/pflag"

	"contactbase/cmd"
	"contactbase/internal/settings"
)

// followed are the settings of the server that commands use, too, unless they have their own: what a tenant may have,
// and what webhooks may reach.
var followed = []string{
	"maxKeys", "maxWebhooks", "maxInbound", "maxMembers", "minFreeDisk",
	"allowPrivateWebhooks", "webhookAllow", "webhookProxy", "portalAllowPrivate",
	"nats", "natsCreds", "natsSubjects",
}

// servedFile is the file in the data directory with those settings of the last server that have other values than their
// defaults. Backups leave it out.
const servedFile = ".contactbase.served"

// recordServed writes the settings of the server into the data directory when it starts. Commands fall back to defaults
// if this fails, so the server only logs it.
func recordServed(app core.App, serve *pflag.FlagSet) {
	app.OnServe().BindFunc(func(e *core.ServeEvent) error {
		if err := e.Next(); err != nil {
			return err
		}
		if err := writeServed(e.App.DataDir(), serve); err != nil {
			e.App.Logger().Warn("cannot store the settings for commands, which use their own", "error", err)
		}
		return nil
	})
}

func writeServed(dataDir string, serve *pflag.FlagSet) error {
	values := map[string]string{}
	for _, name := range followed {
		flag := serve.Lookup(name)
		value := cmd.WithoutUser(settings.Text(flag), "")
		if flag.Value.String() == flag.DefValue || value == "" {
			continue
		}
		if name == "natsCreds" { // commands may run elsewhere
			absolute, err := filepath.Abs(value)
			if err != nil {
				return err
			}
			value = absolute
		}
		values[name] = value
	}
	content, err := json.Marshal(values)
	if err != nil {
		return err
	}
	path := filepath.Join(dataDir, servedFile)
	if err := os.WriteFile(path+".new", content, 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// readServed returns the settings of the last server on a data directory, nil if none is known: the databases may be
// another user's, and commands that need no database run in any case.
func readServed(dataDir string) map[string]string {
	content, err := os.ReadFile(filepath.Join(dataDir, servedFile))
	if err != nil {
		return nil
	}
	var values map[string]string
	if json.Unmarshal(content, &values) != nil {
		return nil
	}
	if _, err := os.Stat(values["natsCreds"]); err != nil {
		delete(values, "natsCreds")
	}
	return values
}

// follow gives a command the settings of the last server that it has not itself. The server starts with its own.
func (c *config) follow(flags *pflag.FlagSet) {
	own := []string{"serve", cmd.DemoName, "config"}
	if c.dataDir == "" && !slices.Contains(own, flags.Arg(0)) {
		c.settings.Follow(flags, c.served)
	}
}
