package e2e

import (
	"strings"
	"testing"

	devtools "github.com/chromedp/cdproto/page"

	"contactbase/internal/testenv"
)

// The start page shows what runs here and whether it is healthy, and links to the documentation and the dashboard.
func TestBrowserStartPage(t *testing.T) {
	t.Parallel()
	s := newInstallation(t).superuser().serve()
	b := s.newBrowser()
	b.open("/")
	b.sees("The server is running.")
	b.look("home")
	b.wait("the way to the dashboard", `document.querySelector('a[href^="_/"]')`)
	b.wait("the way to the portal", `document.querySelector('a[href="portal/"]')`)
	b.wait("the way to the documentation", `document.querySelector('a[href="docs"]')`)
	s.kill()
	b.sees("The server does not respond.") // the page checks again every 15 seconds
}

// The documentation works without a network, has no input for a key, and requests nothing from other servers.
func TestBrowserDocumentation(t *testing.T) {
	t.Parallel()
	s := newInstallation(t).superuser().serve()
	b := s.newBrowser()
	b.open("/docs")
	b.wait("the introduction, with the address of this installation", `document.querySelector("article td code").textContent === `+quote(s.base+"/api/ext/v1"))
	b.wait("a first request to copy", `document.querySelector("article pre code").textContent.includes(`+quote("curl "+s.base+contactsPath)+`)`)
	b.look("docs-introduction")

	pages := evaluate[[]string](b, `[...document.querySelectorAll("nav a")].map((a) => a.pathname).filter((path) => path.startsWith("/docs/"))`)
	if len(pages) < 20 {
		t.Errorf("the menu has only %v", pages)
	}
	every := testenv.Count(4, 1)
	for n, page := range pages {
		if n%every != 0 {
			continue
		}
		b.open(page)
		b.wait(page, `document.querySelector("article h1") && document.querySelector("nav a[aria-current]")?.pathname === `+quote(page))
		if n%4 == 0 { // they are laid out alike
			b.look("docs-" + strings.TrimPrefix(page, "/docs/"))
		}
	}
	b.open("/docs/quick-start")
	b.wait("the address of this installation", `document.querySelector("pre code").textContent.includes(`+quote("export CB="+s.base+"/api/ext/v1")+`)`)
	b.run(`navigator.clipboard.writeText = async (text) => { window.copied = text }`)
	b.click("Copy")
	b.wait("the copy", `window.copied?.startsWith("export CB=")`)
	b.open("/docs/verify-signatures#test-your-code")
	b.wait("the contents", `document.querySelector('.contents a[href="#x-signature"]')?.checkVisibility()`)
	b.wait("the first language", `document.querySelectorAll("#content .samples figure:not([hidden])").length === 2`)
	b.click("Ruby")
	b.wait("both functions in Ruby", `[...document.querySelectorAll("figure:not([hidden])")].every(({ dataset }) => dataset.language === "ruby")`)
	b.look("docs-verify-signatures")
	b.open("/docs/troubleshooting")
	b.wait("the picture", `document.querySelector("picture img").naturalWidth > 1000`)
	b.look("docs-troubleshooting")
	b.click("Next Event feed")
	b.wait("the next page", `location.pathname === "/docs/events"`)
	b.forgiven = "404"
	for _, path := range []string{"/docs/nope", "/nope/deeper"} {
		b.open(path)
		b.sees("There is no page at this address.")
		b.fill("Search", "privacy request")
		b.click("Privacy requests")
		b.wait("the page that was searched for", `location.pathname === "/docs/privacy"`)
	}
	if foreign := b.foreign(); len(foreign) > 0 {
		t.Errorf("the documentation requests other hosts: %v", foreign)
	}
}

// Each operation shows its examples beside it, with the address of the installation and in the language that
// the reader chose.
func TestBrowserReference(t *testing.T) {
	t.Parallel()
	s := newInstallation(t).superuser().serve()
	b := s.newBrowser()
	b.open("/docs/api-contacts#createContact")
	b.wait("the operation, and none above it", `Math.abs(document.getElementById("createContact").getBoundingClientRect().top) < 5`)
	const sample = `document.querySelector("#createContact figure:not([hidden]) code").textContent`
	b.wait("the command", sample+`.startsWith(`+quote("curl "+s.base+contactsPath)+`)`)
	if beside := evaluate[bool](b, `document.querySelector("#createContact .code").getBoundingClientRect().left > document.querySelector("#createContact .text").getBoundingClientRect().right`); !beside {
		t.Error("the examples are not beside the operation")
	}
	b.look("docs-operation")
	b.click("TypeScript")
	b.wait("the same in TypeScript", sample+`.includes(`+quote(`new Contactbase({ url: "`+s.base+`"`)+`)`)
	b.run("window.isOld = true; location.reload()")
	b.wait("the language that was chosen", `!window.isOld && document.readyState === "complete" && `+sample+`.includes("new Contactbase(")`)
	if shown := evaluate[int](b, `[...document.querySelectorAll("figure:not([hidden])")].filter(({ dataset }) => dataset.language !== "ts").length`); shown > 0 {
		t.Errorf("%d operations show another language", shown)
	}
	b.open("/docs/api-admin")
	b.wait("the operations of superusers", `document.querySelectorAll(".operation").length > 20`)
	b.look("docs-admin")
	b.resize(390, 844, "dark")
	if inputs := evaluate[int](b, `document.querySelectorAll("article input, article textarea, article select").length`); inputs > 0 {
		t.Errorf("the reference has %d places to type into", inputs)
	}
}

// The search finds guides, operations and error codes, and leads to them.
func TestBrowserSearch(t *testing.T) {
	t.Parallel()
	s := newInstallation(t).superuser().serve()
	b := s.newBrowser()
	b.open("/docs/quick-start")
	// as the end of a navigation to a section does on a busy machine
	b.run(`document.addEventListener("focusin", () => setTimeout(() => document.activeElement.blur()), { once: true })`)
	b.fill("Search", "retry-after 503")
	b.wait("what is found", `[...document.querySelectorAll("#found a")].some((a) => a.textContent === "Retries")`)
	b.accessible("the search")
	b.shot("docs-search")
	b.click("Retries")
	b.wait("the section", `location.pathname === "/docs/delivery" && location.hash === "#retries"`)
	for _, tc := range [][2]string{
		{"create a contact", "/docs/api-contacts#createContact"},
		{"post /api/ext/v1/contacts/batch", "/docs/api-contacts#writeContacts"}, // the same page
		{"rate_limited", "/docs/errors-and-limits#rate_limited"},
		{"contacts/{id}/merge", "/docs/api-contacts#mergeContacts"},
		{"invalid_phone", "/docs/errors-and-limits#invalid_phone"},
	} {
		search, address := tc[0], tc[1]
		b.settled()
		b.fill("Search", search)
		b.wait(search, `document.querySelector("#found li:first-child a")?.href.endsWith(`+quote(address)+`)`)
		b.wait("no path that is cut off", `document.querySelector("header").scrollWidth <= document.querySelector("header").clientWidth`)
		b.press(downKey)
		b.wait("the focus on the first one", `document.activeElement.matches("#found li:first-child a")`)
		b.press(enterKey)
		b.wait(address, `location.href.endsWith(`+quote(address)+`) && document.querySelector("article :target")`)
	}
	b.fill("Search", "zebra crossing")
	b.sees("Nothing found")
	b.press(escapeKey)
	b.wait("the end of the search", `document.getElementById("found").hidden`)
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
}

// On a phone the menu is folded, opens and closes by the keyboard, and commands are as wide as the screen.
func TestBrowserDocumentationOnAPhone(t *testing.T) {
	t.Parallel()
	s := newInstallation(t).superuser().serve()
	b := s.newBrowser()
	b.resize(390, 844, "dark")
	b.open("/docs/quick-start")
	const menu = `document.getElementById("menu")`
	b.wait("the page, with its menu folded", `document.querySelector("article .copy") && !`+menu+`.checkVisibility()`)
	b.fits("the page")
	if wide := evaluate[int](b, `[...document.querySelectorAll("pre.wrap")].filter((pre) => pre.scrollWidth > pre.clientWidth).length`); wide > 0 {
		t.Errorf("%d commands run off the edge", wide)
	}
	b.pressOn("Menu", enterKey)
	b.wait("the menu", menu+`.checkVisibility()`)
	b.accessible("the menu")
	b.shot("docs-menu")
	b.press(escapeKey)
	b.wait("the end of the menu", `!`+menu+`.checkVisibility()`)
	b.focused("Menu")
	b.click("Menu")
	b.click("Contacts")
	b.wait("the reference", `location.pathname === "/docs/api-contacts" && document.querySelector(".languages")`)
	b.look("docs-phone")
	b.resize(390, 844, "dark")
	b.click("Menu")
	b.click("Update a contact")
	b.wait("the operation, without the menu", `location.hash === "#updateContact" && !`+menu+`.checkVisibility()`)
}
