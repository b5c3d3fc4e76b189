package e2e

import (
	"strings"
	"testing"

	devtools "github.com/chromedp/cdproto/page"
)

// The start page shows what runs here and whether it is healthy, and links to the documentation and the dashboard.
func TestBrowserStartPage(t *testing.T) {
	t.Parallel()
	s := newInstallation(t).superuser().serve()
	b := s.newBrowser()
	b.open("/")
	b.sees("It is healthy.")
	b.look("home")
	b.wait("the way to the dashboard", `document.querySelector('a[href^="_/"]')`)
	b.wait("the way to the documentation", `document.querySelector('a[href="docs"]')`)
	s.kill()
	b.sees("It does not answer.") // it looks again by itself, every 15 seconds
}

// The documentation works without a network, has no input for a key, and requests nothing from other servers.
func TestBrowserDocumentation(t *testing.T) {
	t.Parallel()
	s := newInstallation(t).superuser().serve()
	b := s.newBrowser()
	b.open("/docs")
	b.wait("the reference", `document.querySelectorAll(".opblock").length > 10`)
	b.wait("the first endpoint on the first screen", `document.querySelector(".opblock").getBoundingClientRect().top < innerHeight`)
	b.look("docs-reference")
	b.click("Read a contact")
	b.wait("the operation that the index leads to", `document.querySelector("#operations-Contacts-getContact.is-open")`)
	b.run(`document.querySelector(".opblock-post .opblock-summary-control").click()`)
	b.wait("an operation", `document.querySelector(".opblock.is-open .responses-table")`)
	b.run(`document.querySelector(".opblock.is-open").scrollIntoView()`)
	b.look("docs-operation")
	if inputs := evaluate[int](b, `document.querySelectorAll("#reference input, textarea, .authorize, .try-out, .execute").length`); inputs > 0 {
		t.Errorf("the reference has %d places to type into", inputs)
	}

	guides := evaluate[[]string](b, `[...document.querySelectorAll("nav a")].map((a) => a.pathname).filter((path) => path.startsWith("/docs/"))`)
	if len(guides) < 5 {
		t.Errorf("beside the reference there are only %v", guides)
	}
	for n, guide := range guides {
		b.open(guide)
		b.wait(guide, `document.querySelector("article h1")`)
		if n%3 == 0 { // they are laid out alike
			b.look("guide-" + strings.TrimPrefix(guide, "/docs/"))
		}
	}

	b.open("/docs/quick-start")
	b.wait("the address of this installation", `document.querySelector("pre code").textContent.includes(`+quote("export CB="+s.base+"/api/ext/v1")+`)`)
	b.run(`navigator.clipboard.writeText = async (text) => { window.copied = text }`)
	b.click("Copy")
	b.wait("the copy", `window.copied?.includes("curl")`)
	b.fill("Search", "retry-after 503")
	b.wait("what is found", `[...document.querySelectorAll("#found a")].some((a) => a.textContent === "Retries")`)
	b.shot("docs-search")
	b.click("Retries")
	b.wait("the section", `location.pathname === "/docs/delivery" && location.hash === "#retries"`)
	for search, operation := range map[string]string{"create a contact": "createContact", "batch": "writeContacts"} { // from a guide, and on the reference itself
		b.fill("Search", search)
		b.wait(operation, `document.querySelector('#found li:first-child a[href$="`+operation+`"]')`)
		b.run(`document.querySelector("#found li:first-child a").click()`)
		b.wait("the open "+operation, `document.querySelector("#operations-Contacts-`+operation+`.is-open")`)
	}
	b.shot("docs-search-reference")
	tell(b, devtools.AddScriptToEvaluateOnNewDocument, devtools.AddScriptToEvaluateOnNewDocumentParams{Source: `new MutationObserver((_, observer) => {
		const input = document.getElementById("search");
		if (input) {
			observer.disconnect();
			input.focus();
			input.value = "retry-after 503";
		}
	}).observe(document, { childList: true, subtree: true })`})
	b.open("/docs/quick-start")
	b.wait("what was searched for before the page's script ran", `document.querySelector("#found a")`)
	if foreign := b.foreign(); len(foreign) > 0 {
		t.Errorf("the documentation requests other hosts: %v", foreign)
	}
}
