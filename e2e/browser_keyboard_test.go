package e2e

import (
	"fmt"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"

	"contactbase/internal/testenv"
)

// the names of keys in chromedp
const (
	tabKey    = "\t"
	enterKey  = "\r"
	spaceKey  = " "
	escapeKey = "\u001b"
	downKey   = "\u0301"
)

// Everything works without a mouse: the focus is visible, stays in the topmost window, and returns to
// where it came from.
func TestBrowserKeyboard(t *testing.T) {
	t.Parallel()
	testenv.Long(t, "presses the Tab key some hundred times; the tests of the documentation use the keyboard, too")
	i, tenant := newTenant(t)
	i.must("webhook", "create", tenant, newReceiver(t).URL, "--name", "Billing")
	s := i.serve()
	b := s.newBrowser().signIn(s)

	b.integrations("/keys", "API keys")
	b.closesLate()
	b.pressOn("New key", enterKey)
	b.focused("Name")
	tell(b, input.InsertText, input.InsertTextParams{Text: "website"})
	b.pressOn("Create and update contacts", spaceKey)
	b.press(enterKey) // sends the form, from any of its fields
	b.focused("Copy API key")
	b.press(escapeKey)
	for range 6 {
		b.press(tabKey)
		b.wait("the focus in the window", `document.activeElement.closest(".integrations-dialog")`)
	}
	b.sees("Your new API key") // a slip of the finger does not take it away
	b.pressOn("I have stored it", enterKey)
	b.closed()
	b.focused("New key")
	b.wait("the key, which may only read", `document.querySelector(".integrations-table tbody").innerText.match(/website[^]*\tRead\t/)`)

	b.integrations("/webhooks", "Webhooks")
	b.pressOn("More for Billing", enterKey)
	b.pressOn("Edit", enterKey)
	b.focused("URL")
	b.press(escapeKey)
	b.closed()
	b.focused("More for Billing")
	b.pressOn("More for Billing", enterKey)
	b.pressOn("Edit", enterKey)
	b.focused("URL")
	tell(b, input.InsertText, input.InsertTextParams{Text: "/other"})
	b.press(escapeKey)
	b.wait("the focus in the question", `document.activeElement.closest(".integrations-dialog").innerText.includes("Discard your changes?")`)
	b.press(escapeKey)
	b.wait("the form with what was entered", `!document.body.innerText.includes("Discard your changes?") && [...document.querySelectorAll("input")].some(({ value }) => value.endsWith("/other"))`)
	b.focused("URL")
	b.staysWhileSent()
	b.pressOn("Close", enterKey)
	b.pressOn("Discard", enterKey)
	b.closed()

	b.integrations("/imports", "Import and export")
	for _, action := range []string{"Import contacts", "Export contacts"} {
		b.pressOn(action, enterKey)
		b.wait("the focus in the window", `document.activeElement.closest(".integrations-dialog")`)
		b.press(escapeKey)
		b.closed()
		b.focused(action)
	}

	b.integrations("", "Overview")
	b.pressOn("Events as a table", enterKey)
	b.wait("the table", `document.activeElement.closest("details").open`)

	i.must("webhook", "create", tenant, "inspect:", "--name", "Look")
	b.integrations("/webhooks", "Webhooks")
	b.pressOn("Inspect Look", enterKey)
	b.pressOn("Send test event", enterKey)
	b.sees("Signature verified")
	b.focused("Send test event")

	b.integrations("/webhooks", "Webhooks")
	b.pressOn("Open Look", enterKey)
	b.pressOn("Details", enterKey)
	b.sees("Request as sent")
	b.press(escapeKey)
	b.closed()
	b.focused("Details")

	b.integrations("/tenants", "Tenants")
	b.pressOn("Enabled for Acme", spaceKey)
	b.pressOn("Disable API", enterKey)
	b.sees("Disabled for Acme")
}

// staysWhileSent sends the form that is open, and expects that it stays without a question until the
// request has failed.
func (b *browser) staysWhileSent() {
	b.t.Helper()
	evaluate[bool](b, `(() => {
		const fetch = window.fetch;
		const requests = [];
		window.fetch = () => new Promise((_, reject) => requests.push(reject));
		window.fail = () => {
			window.fetch = fetch;
			requests.forEach((reject) => reject(new Error("the connection was lost")));
			return true;
		};
		return true;
	})()`)
	b.press(enterKey)
	b.wait("the form to be sent", `document.querySelector(".integrations-dialog button.loading")`)
	b.press(escapeKey)
	if evaluate[bool](b, `document.body.innerText.includes("Discard your changes?")`) {
		b.t.Fatal("a form that is being sent asks whether to discard it")
	}
	evaluate[bool](b, `window.fail()`)
	b.wait("the form to be sent again", `!document.querySelector(".integrations-dialog button.loading")`)
}

// closesLate delays the closing of the next window until that of a new key is open, as on a busy machine.
func (b *browser) closesLate() {
	b.t.Helper()
	evaluate[bool](b, `(() => {
		const close = app.modals.close;
		app.modals.close = async (...args) => {
			app.modals.close = close;
			while (!document.body.textContent.includes("Your new API key")) {
				await new Promise((resolve) => setTimeout(resolve, 10));
			}
			close(...args);
		};
		return true;
	})()`)
}

func (b *browser) press(key string) {
	b.t.Helper()
	b.do(chromedp.KeyEvent(key))
}

// pressOn moves the focus to an element by its name, and presses a key. If a list loads at that moment and takes the
// focus, pressOn repeats that.
func (b *browser) pressOn(name, key string) {
	b.t.Helper()
	for deadline := time.Now().Add(timeout); time.Now().Before(deadline); {
		b.tabTo(name)
		b.run(`window.pressedOn = ""; document.addEventListener("keydown", ({ target }) => { window.pressedOn = ` + nameOf("target") + ` }, { capture: true, once: true })`)
		b.press(key)
		if evaluate[string](b, "window.pressedOn") == name {
			return
		}
	}
	b.t.Fatalf("the focus does not stay on %q", name)
}

// nameOf is the accessible name of an element.
func nameOf(element string) string {
	return `((el) => (el.ariaLabel || el.labels?.[0]?.textContent || el.textContent).replace(/\s+/g, " ").trim())(` + element + `)`
}

var nameOfFocus = nameOf("document.activeElement")

// focused waits until the focus is on the element with that name.
func (b *browser) focused(name string) {
	b.t.Helper()
	b.wait(fmt.Sprintf("the focus on %q", name), nameOfFocus+" === "+quote(name))
}

// tabTo moves the focus with the Tab key to the element with that name, and fails the test if the focus is
// not visible there.
func (b *browser) tabTo(name string) {
	b.t.Helper()
	b.wait(name, `[...`+scope+`.querySelectorAll("button, a, label, summary")].some((el) => (el.ariaLabel || el.textContent).replace(/\s+/g, " ").trim() === `+quote(name)+`)`)
	for range 80 {
		b.press(tabKey)
		if evaluate[string](b, nameOfFocus) != name {
			continue
		}
		if !evaluate[bool](b, `(() => {
			const visible = (el) => el && getComputedStyle(el).outlineStyle !== "none";
			const el = document.activeElement;
			return visible(el.type === "checkbox" ? el.labels[0] : el);
		})()`) {
			b.t.Errorf("the focus on %q is not visible", name)
		}
		return
	}
	b.t.Fatalf("the Tab key does not reach %q", name)
}
