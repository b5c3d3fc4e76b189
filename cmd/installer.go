package cmd

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/pocketbase/pocketbase/core"
)

// installerLife is how long the link works by which the first superuser is made. It ends with the first use, too.
const installerLife = 30 * time.Minute

// offerSuperuser has a server without a superuser print a link by which one is made. PocketBase would also open a browser.
func offerSuperuser(out io.Writer) func(*core.ServeEvent) error {
	return func(e *core.ServeEvent) error {
		e.InstallerFunc = func(_ core.App, installer *core.Record, base string) error {
			token, err := installer.NewStaticAuthToken(installerLife)
			if err != nil {
				return err
			}
			fmt.Fprintf(out, `There is no superuser yet. This link creates the first, once, within %d minutes:

  %s/_/#/pbinstall/%s

or, in a shell: contactbase superuser upsert EMAIL PASSWORD

`, installerLife/time.Minute, strings.TrimRight(base, "/"), token)
			return nil
		}
		return e.Next()
	}
}
