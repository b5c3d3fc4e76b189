// Package docs holds the guides, as Markdown, and the pages that show them and the API reference.
package docs

import (
	"bytes"
	"embed"
	"html/template"
	"io/fs"
	"regexp"
	"strings"
	"sync"

	"contactbase/clients"
)

//go:embed *.md
var sources embed.FS

//go:embed site
var site embed.FS

// Introduction is the name of the page that the documentation opens with.
const Introduction = ""

// chapter is a part of the menu.
type chapter struct {
	Title string
	Pages []Page
}

// menu names the pages of each chapter. The other Markdown files are for those who work on the program.
var menu = []struct {
	title string
	names []string // of files; the API reference has its own
}{
	{"Start", []string{Introduction, "quick-start", "authentication", "errors-and-limits", "idempotency", "clients"}},
	{"API reference", nil},
	{"Guides", []string{
		"event-catalog", "delivery", "verify-signatures", "troubleshooting", "events", "sync", "notices",
		"inbound", "senders", "import", "duplicates", "using-the-portal", "members", "portal", "portal-links",
		"privacy", "mcp", "n8n", "node-red",
	}},
	{"Operations", []string{
		"install", "self-hosting", "proxies", "settings", "commands", "monitoring",
		"audit", "upgrading", "extending", "growing", "failover-model", "architecture", "comparison",
	}},
}

// Page is a page of the documentation.
type Page struct {
	Name     string // the last part of its address
	Title    string
	Body     template.HTML
	Sections []section // what a search finds, and the menu lists below the page
	IsWide   bool      // with examples beside the text
}

// Address is where the page is, relative to the root of the program.
func (p Page) Address() string { return strings.TrimSuffix("docs/"+p.Name, "/") }

// Root leads from the page to the root of the program, which a proxy may have put below a path.
func (p Page) Root() string {
	if p.Name == Introduction {
		return "./"
	}
	return "../"
}

// Assets returns the styles and scripts of the pages.
func Assets() fs.FS {
	assets, err := fs.Sub(site, "site/assets")
	if err != nil {
		panic("docs: " + err.Error()) // unreachable: the folder is embedded
	}
	return assets
}

// chapters are all pages. They are part of the program, so reading an invalid one panics; a test reads them all.
var chapters = sync.OnceValue(func() []chapter {
	var all []chapter
	for _, part := range menu {
		pages := referencePages
		if part.names != nil {
			pages = func() (pages []Page) {
				for _, name := range part.names {
					pages = append(pages, guide(name))
				}
				return pages
			}
		}
		all = append(all, chapter{part.title, pages()})
	}
	return all
})

// Render returns the HTML of a page, and false if there is no such page. It names the clients of the installation.
func Render(name string, served clients.Names) ([]byte, bool) {
	page, found := rendered()[name]
	if name == clientsPage {
		page = []byte(served.In(string(page)))
	}
	return page, found
}

// layout is that of all pages.
var layout = sync.OnceValue(func() *template.Template {
	return template.Must(template.ParseFS(site, "site/page.html"))
})

// view is what the layout shows.
type view struct {
	Page           Page
	Chapters       []chapter
	Root           string
	Previous, Next *Page // in the order of the menu; nil at its ends
}

// rendered are all pages, by name.
var rendered = sync.OnceValue(func() map[string][]byte {
	var pages []Page
	for _, chapter := range chapters() {
		pages = append(pages, chapter.Pages...)
	}
	all := map[string][]byte{}
	for i, page := range pages {
		shown := view{Page: page, Chapters: chapters(), Root: page.Root()}
		if i > 0 {
			shown.Previous = &pages[i-1]
		}
		if i+1 < len(pages) {
			shown.Next = &pages[i+1]
		}
		var out bytes.Buffer
		if err := layout().Execute(&out, shown); err != nil {
			panic("docs: " + err.Error())
		}
		all[page.Name] = out.Bytes()
	}
	return all
})

// scrollable lets the keyboard scroll what is wider than the screen.
var scrollable = strings.NewReplacer(
	"<pre>", `<pre tabindex="0">`,
	"<code>--", `<code class="flag">--`, // which would break after its hyphens
	"<table>", `<div class="scroll" tabindex="0"><table>`,
	"</table>", "</table></div>",
)

// guide reads and renders a guide. Its title is its first heading.
func guide(name string) Page {
	file := name
	if name == Introduction {
		file = "introduction"
	}
	source, err := sources.ReadFile(file + ".md")
	if err != nil {
		panic("docs: " + err.Error())
	}
	title, body := markdown(source, siteLink(name))
	switch name {
	case errorsPage:
		body = anchored(body)
	case clientsPage:
		body = linked(body)
	}
	// the guides are our own, so that their HTML is trusted
	page := Page{Name: name, Title: title, Body: template.HTML(scrollable.Replace(coloured(pictured(body))))}
	page.Sections = page.sections()
	page.Body = template.HTML(heading.ReplaceAllString(string(page.Body),
		`<h$1 id="$2">$3 <a class="anchor" href="#$2" aria-label="Link to this section">#</a></h$1>`))
	return page
}

// heading matches a heading that can be linked to.
var heading = regexp.MustCompile(`<h([23]) id="([^"]+)">(.*?)</h[23]>`)

// Contents are the sections that the page lists beside itself: those of a guide with several.
func (p Page) Contents() []section {
	const few = 3
	if p.IsWide || len(p.Sections) <= few {
		return nil
	}
	return p.Sections[1:]
}

// clientsPage is the guide that names the clients which the installation serves.
const clientsPage = "clients"

// linked makes links of the names of the clients, which pip also follows.
func linked(body string) string {
	names := clients.NamesFor("")
	for _, name := range []string{names.NPM, names.Go, names.Python} {
		code := "<code>" + name + "</code>"
		body = strings.Replace(body, code, `<a href="clients/`+name+`">`+code+"</a>", 1)
	}
	return body
}

// light matches the light version of a screenshot, which also has a dark one.
var light = regexp.MustCompile(`<img src="([^"]*)-light\.png"[^>]*>`)

// pictured shows screenshots in the colours of the reader.
func pictured(body string) string {
	return light.ReplaceAllString(body,
		`<picture><source media="(prefers-color-scheme: dark)" srcset="$1-dark.png">$0</picture>`)
}

// siteLink returns a function that returns the target of a link on the page with that name. Links in guides are
// written for reading in the repository, those in OpenAPI descriptions for an installation at the root of its host.
func siteLink(name string) func(destination string) string {
	below := "" // from the page to the folder of the pages
	if name == Introduction {
		below = "docs/"
	}
	return func(destination string) string {
		if destination == "../api/openapi.yaml" {
			return Page{Name: name}.Root() + "openapi.json"
		}
		if asset, isAsset := strings.CutPrefix(destination, "site/"); isAsset {
			return below + asset
		}
		if page, isPage := strings.CutPrefix(destination, "/docs/"); isPage {
			return below + page
		}
		file, fragment, hasFragment := strings.Cut(destination, "#")
		target, isGuide := strings.CutSuffix(file, ".md")
		if !isGuide || strings.Contains(target, "/") {
			return destination
		}
		if hasFragment {
			fragment = "#" + fragment
		}
		if target == "introduction" {
			return "../docs" + fragment
		}
		return below + target + fragment
	}
}
