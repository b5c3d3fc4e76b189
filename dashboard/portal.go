package dashboard

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"path"
	"time"

	"github.com/pocketbase/pocketbase/apis"
	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/ui"
)

// portalPolicy lets the portal run only its own scripts. Its pages show text from outside: responses of
// receivers, and contacts.
const portalPolicy = "default-src 'none'; script-src 'self'; " +
	"style-src 'self'; font-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

// shipped are the files of PocketBase's dashboard that the portal uses. It serves them itself, so that a
// proxy may block /_/.
var shipped = []string{"libs/shablon/shablon.iife.js", "fonts/*/*.woff2", "assets/index-*.css"}

// portal is what the page needs, by address below it. The names of PocketBase's stylesheets have a hash.
type portal struct {
	files  map[string][]byte
	page   *template.Template
	styles string // the address of PocketBase's stylesheet
}

// bindPortal serves the portal. All its addresses are relative, so that it works below a path of a proxy.
func bindPortal(e *core.ServeEvent, styles []byte) error {
	p, err := newPortal(styles)
	if err != nil {
		return err
	}
	group := e.Router.Group("/portal")
	group.Bind(apis.SkipSuccessActivityLog(), apis.Gzip())
	group.GET("", func(e *core.RequestEvent) error { return e.Redirect(http.StatusMovedPermanently, "portal/") })
	group.GET("/{path...}", p.serve)
	return nil
}

func newPortal(styles []byte) (*portal, error) {
	script, err := join("modules/*.js", "portal/*.js")
	if err != nil {
		return nil, err
	}
	own, err := join("portal/*.css")
	if err != nil {
		return nil, err
	}
	page, err := template.ParseFS(files, "portal/page.html")
	if err != nil {
		return nil, fmt.Errorf("reading the portal's page: %w", err)
	}
	p := &portal{
		files: map[string][]byte{"portal.js": script, "portal.css": append(bytes.Clone(styles), own...)}, page: page,
	}
	for _, pattern := range shipped {
		names, err := fs.Glob(ui.DistDirFS, pattern)
		if err != nil || len(names) == 0 {
			return nil, fmt.Errorf("PocketBase's dashboard has no file %s: %w", pattern, err)
		}
		for _, name := range names {
			if p.files[name], err = fs.ReadFile(ui.DistDirFS, name); err != nil {
				return nil, fmt.Errorf("reading a file of PocketBase's dashboard: %w", err)
			}
			if path.Ext(name) == ".css" {
				p.styles = name
			}
		}
	}
	return p, nil
}

// serve answers with a file, or at the root with the page.
func (p *portal) serve(e *core.RequestEvent) error {
	name := e.Request.PathValue("path")
	content, found := p.files[name]
	if name == "" {
		name = "page.html"
		var err error
		if content, err = p.render(e.App.Settings()); err != nil {
			return fmt.Errorf("rendering the portal: %w", err)
		}
	} else if !found {
		return e.NotFoundError("", nil)
	}
	header := e.Response.Header()
	header.Set("Content-Security-Policy", portalPolicy)
	header.Set("Referrer-Policy", "no-referrer") // the address may have the code of a sign-in
	header.Set("Cache-Control", "no-cache")
	header.Set("ETag", fmt.Sprintf(`W/"%x"`, sha256.Sum256(content)))
	http.ServeContent(e.Response, e.Request, name, time.Time{}, bytes.NewReader(content))
	return nil
}

// render returns the page with the name, color and URL of the installation, and whether it can send mail.
func (p *portal) render(settings *core.Settings) ([]byte, error) {
	var page bytes.Buffer
	meta := settings.Meta
	err := p.page.Execute(&page, struct {
		AppName     string `json:"appName"`
		AppURL      string `json:"appURL"`
		AccentColor string `json:"accentColor"`
		SendsMail   bool   `json:"sendsMail"`
		Styles      string `json:"-"`
	}{meta.AppName, meta.AppURL, meta.AccentColor, settings.SMTP.Enabled, p.styles})
	return page.Bytes(), err
}
