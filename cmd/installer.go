package cmd

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/pocketbase/pocketbase/core"
)

// installerLife is how long the link works by which the first superuser is made. It ends with the first use, too.
const installerLife = 30 * time.Minute

// offerSuperuser has a server without a superuser print a link by which one is made, or where a log is read instead, how one is
// made in a shell: a link that makes superusers belongs into no log. PocketBase would also open a browser.
func offerSuperuser(s *served) func(*core.ServeEvent) error {
	return func(e *core.ServeEvent) error {
		e.InstallerFunc = func(app core.App, installer *core.Record, base string) error {
			command := fmt.Sprintf("%s superuser upsert EMAIL PASSWORD --dir %s", os.Args[0], absolute(app.DataDir()))
			if s.inLog {
				app.Logger().Warn("there is no superuser yet", "create", command)
				return nil
			}
			token, err := installer.NewStaticAuthToken(installerLife)
			if err != nil {
				return err
			}
			fmt.Fprintf(s.out, `There is no superuser yet. This link creates the first, once, within %d minutes:

  %s/_/#/pbinstall/%s

or, in a shell: %s

`, installerLife/time.Minute, strings.TrimRight(base, "/"), token, command)
			return nil
		}
		return e.Next()
	}
}
