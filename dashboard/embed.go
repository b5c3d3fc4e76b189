// Package dashboard extends PocketBase's dashboard with Integrations: an overview on which an admin lands, pages for
// API keys, webhooks and their deliveries, inbound webhooks and tenants, and a window that shows a new secret once.
//
// The modules need no build step: they are joined in the order of their names, main.js last, into the one file that
// PocketBase loads for an extension, and share its scope. Only main.js uses what others declare while it is loaded;
// they themselves wait until a page is opened, so that their order does not matter. The styles are joined too.
//
// It also serves the portal, where the members of a tenant see the same pages of their tenant: modules is for both,
// superuser only for the dashboard, portal only for the portal.
package dashboard

import (
	"bytes"
	"embed"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/hook"
)

//go:embed modules/*.js superuser/*.js styles/*.css portal/*.js portal/*.css portal/page.html
var files embed.FS

const (
	extensionName = "contactbase"
	scriptFile    = "main.js"          // what PocketBase loads
	stylesFile    = "integrations.css" // what the script loads

	joinedPath = "/_/extensions.js" // where PocketBase serves the main files of all extensions
	ownPrefix  = "/_/extensions/" + extensionName + "/"
)

// Bind adds the pages to the dashboard that the app serves, and the program's version to its footer.
func Bind(app core.App, version string) {
	app.OnServe().BindFunc(func(e *core.ServeEvent) error {
		script, err := join("modules/*.js", "superuser/*.js")
		if err != nil {
			return err
		}
		script = append(fmt.Appendf(nil, "const programVersion = %q;\n", version), script...)
		styles, err := join("styles/*.css")
		if err != nil {
			return err
		}
		e.UIExtensions = append(e.UIExtensions, core.UIExtension{
			Name: extensionName,
			FS:   extension{scriptFile: script, stylesFile: styles},
		})
		e.Router.Bind(headers())
		if err := bindPortal(e, styles); err != nil {
			return err
		}
		return e.Next()
	})
}

// policy is the content security policy that PocketBase gives the dashboard, except that images come from nowhere else.
const policy = "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; " +
	"connect-src 'self' http://127.0.0.1:* https://nominatim.openstreetmap.org; " +
	"script-src 'self' http://127.0.0.1:*; frame-ancestors 'none'"

// HeadersID is the id of the middleware, for routes that unbind it.
const HeadersID = "contactbaseDashboard"

// headers sets the headers of the dashboard. Its images come from no other host: a tenant could put one into an editor
// field, and learn when and from where an admin looks at the contact. Browsers do not run the pages of an older
// version: PocketBase lets them cache files for 14 days.
func headers() *hook.Handler[*core.RequestEvent] {
	return &hook.Handler[*core.RequestEvent]{
		Id: HeadersID,
		Func: func(e *core.RequestEvent) error {
			target := e.Request.URL.Path
			if strings.HasPrefix(target, "/_/") {
				e.Response.Header().Set("Content-Security-Policy", policy) // PocketBase keeps one that is there
			}
			if target == joinedPath || strings.HasPrefix(target, ownPrefix) {
				e.Response.Header().Set("Cache-Control", "no-cache")
			}
			return e.Next()
		},
	}
}

// join returns the embedded files that match the patterns as one, main.js last.
func join(patterns ...string) ([]byte, error) {
	var names []string
	for _, pattern := range patterns {
		found, err := fs.Glob(files, pattern)
		if err != nil {
			return nil, err
		}
		names = append(names, found...)
	}
	slices.SortFunc(names, func(a, b string) int {
		if aMain, bMain := path.Base(a) == scriptFile, path.Base(b) == scriptFile; aMain != bMain {
			if aMain {
				return 1
			}
			return -1
		}
		return strings.Compare(a, b)
	})
	var joined bytes.Buffer
	for _, name := range names {
		source, err := files.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("reading the dashboard's %s: %w", name, err)
		}
		fmt.Fprintf(&joined, "\n/* %s */\n", name)
		joined.Write(source)
	}
	joined.WriteByte('\n') // PocketBase closes its function on the same line
	return joined.Bytes(), nil
}
