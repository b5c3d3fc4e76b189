// Package docs holds the guides, as Markdown, and the pages that show them beside the API reference.
package docs

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"io/fs"
	"strings"
	"sync"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

//go:embed *.md
var sources embed.FS

//go:embed site
var site embed.FS

// Reference is the name of the page with the API reference.
const Reference = ""

// guides are the files that are pages, in the order of the navigation. The others are for those who work on the program.
var guides = []string{
	"quick-start", "authentication", "errors-and-limits", "idempotency", "event-catalogue", "delivery", "verify-signatures", "events", "inbound", "import",
	"clients", "mcp", "node-red", "install", "self-hosting", "proxies", "settings", "commands", "monitoring", "upgrading", "growing", "architecture", "comparison",
}

// Page is a page of the documentation.
type Page struct {
	Name  string // the last part of its address; Reference for the API reference
	Title string
	Body  template.HTML // empty on the API reference
}

// Address is where the page is, relative to the root of the program.
func (p Page) Address() string { return strings.TrimSuffix("docs/"+p.Name, "/") }

// Root leads from the page to the root of the program, which a proxy may have put below a path.
func (p Page) Root() string {
	if p.Name == Reference {
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

// Render returns the HTML of a page, and false where there is no such page.
func Render(name string) ([]byte, bool) {
	page, found := rendered()[name]
	return page, found
}

// rendered are all pages, by name. They are part of the program, so what cannot be read panics; a test reads them all.
var rendered = sync.OnceValue(func() map[string][]byte {
	layout := template.Must(template.ParseFS(site, "site/page.html"))
	pages := []Page{{Name: Reference, Title: "API reference"}}
	for _, name := range guides {
		pages = append(pages, guide(name))
	}
	all := make(map[string][]byte, len(pages))
	for _, page := range pages {
		var out bytes.Buffer
		if err := layout.Execute(&out, map[string]any{"Page": page, "Pages": pages, "Root": page.Root()}); err != nil {
			panic("docs: " + err.Error())
		}
		all[page.Name] = out.Bytes()
	}
	return all
})

// scrollable lets what is wider than the screen be scrolled with the keyboard.
var scrollable = strings.NewReplacer(
	"<pre>", `<pre tabindex="0">`,
	"<table>", `<div class="scroll" tabindex="0"><table>`,
	"</table>", "</table></div>",
)

// guide reads and renders a guide. Its title is its first heading.
func guide(name string) Page {
	source, err := sources.ReadFile(name + ".md")
	if err != nil {
		panic("docs: " + err.Error())
	}
	markdown := goldmark.New(
		goldmark.WithExtensions(extension.Table),
		goldmark.WithParserOptions(
			parser.WithAutoHeadingID(),
			parser.WithASTTransformers(util.Prioritized(forSite{}, 100)),
		),
	)
	document := markdown.Parser().Parse(text.NewReader(source))
	heading, isHeading := document.FirstChild().(*ast.Heading)
	if !isHeading || heading.Level != 1 {
		panic(fmt.Sprintf("docs: %s.md does not begin with its title", name))
	}
	var body bytes.Buffer
	if err := markdown.Renderer().Render(&body, source, document); err != nil {
		panic("docs: " + err.Error())
	}
	// the guides are our own, so that their HTML is trusted
	return Page{Name: name, Title: string(heading.Lines().Value(source)), Body: template.HTML(scrollable.Replace(body.String()))}
}

// forSite adapts what is written for reading in the repository: links to other guides and to assets lead to where these are served.
type forSite struct{}

// Transform implements parser.ASTTransformer.
func (forSite) Transform(document *ast.Document, _ text.Reader, _ parser.Context) {
	_ = ast.Walk(document, func(node ast.Node, entering bool) (ast.WalkStatus, error) {
		switch to := node.(type) {
		case *ast.Link:
			if entering {
				to.Destination = []byte(siteLink(string(to.Destination)))
			}
		case *ast.Image:
			if entering {
				to.Destination = []byte(siteLink(string(to.Destination)))
			}
		}
		return ast.WalkContinue, nil
	})
}

// siteLink returns where a guide's link leads, relative to the address of the guide.
func siteLink(destination string) string {
	if asset, isAsset := strings.CutPrefix(destination, "site/"); isAsset {
		return asset
	}
	file, fragment, _ := strings.Cut(destination, "#")
	name, isGuide := strings.CutSuffix(file, ".md")
	if !isGuide || strings.Contains(name, "/") {
		return destination
	}
	if fragment != "" {
		fragment = "#" + fragment
	}
	return name + fragment
}
