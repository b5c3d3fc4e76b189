package e2e

import (
	"strings"
	"testing"
)

// The start page says what runs here and whether it is healthy, and leads to the documentation and the dashboard.
func TestBrowserStartPage(t *testing.T) {
	t.Parallel()
	s := newInstallation(t).superuser().serve()
	b := s.newBrowser()
	b.open("/")
	b.sees("It is healthy.")
	b.look("home")
	b.wait("the way to the dashboard", `document.querySelector('a[href^="/_/"]')`)
	b.wait("the way to the documentation", `document.querySelector('a[href="/docs"]')`)
	s.kill()
	b.sees("It does not answer.") // it looks again by itself, every 15 seconds
}

// The documentation is there without a network, has no place for a key, and asks nobody but this server.
func TestBrowserDocumentation(t *testing.T) {
	t.Parallel()
	s := newInstallation(t).superuser().serve()
	b := s.newBrowser()
	b.open("/docs")
	b.wait("the reference", `document.querySelectorAll(".opblock").length > 10`)
	b.look("docs-reference")
	b.run(`document.querySelector(".opblock-post .opblock-summary-control").click()`)
	b.wait("an operation", `document.querySelector(".opblock.is-open .responses-table")`)
	b.run(`document.querySelector(".opblock.is-open").scrollIntoView()`)
	b.look("docs-operation")
	if inputs := evaluate[int](b, `document.querySelectorAll("input, textarea, .authorize, .try-out, .execute").length`); inputs > 0 {
		t.Errorf("the reference has %d places to type into", inputs)
	}

	guides := evaluate[[]string](b, `[...document.querySelectorAll("nav a")].map((a) => a.getAttribute("href")).filter((href) => href.startsWith("/docs/"))`)
	if len(guides) < 5 {
		t.Errorf("beside the reference there are only %v", guides)
	}
	for _, guide := range guides {
		b.open(guide)
		b.wait(guide, `document.querySelector("article h1")`)
		b.look("guide-" + strings.TrimPrefix(guide, "/docs/"))
	}
	if foreign := b.foreign(); len(foreign) > 0 {
		t.Errorf("the documentation asks other hosts: %v", foreign)
	}
}
