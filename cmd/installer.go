package cmd

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/pocketbase/pocketbase/core"
)

// installerLife is how long the link that creates the first superuser works. It works only once.
const installerLife = 30 * time.Minute

// offerSuperuser makes a server without a superuser print a link that creates one. If the output is a log, it prints
// the shell command instead: such a link does not belong in a log. PocketBase would also open a browser.
func offerSuperuser(s *served) func(*core.ServeEvent) error {
	return func(e *core.ServeEvent) error {
		e.InstallerFunc = func(app core.App, installer *core.Record, base string) error {
			command := fmt.Sprintf("%s superuser upsert EMAIL PASSWORD --dir %s", os.Args[0], absolute(app.DataDir()))
			if env := app.EncryptionEnv(); env != "" {
				command += " --encryptionEnv " + env
			}
			if s.inLog {
				app.Logger().Warn("no superuser exists yet", "create", command)
				return nil
			}
			token, err := installer.NewStaticAuthToken(installerLife)
			if err != nil {
				return err
			}
			fmt.Fprintf(s.out, `There is no superuser yet. This link creates the first one; it works once, within %d minutes:

  %s/_/#/pbinstall/%s

Or create one in a shell: %s

`, installerLife/time.Minute, strings.TrimRight(base, "/"), token, command)
			return nil
		}
		return e.Next()
	}
}
