package e2e

import (
	"net/http"
	"strings"
	"testing"
)

// asks reports whether the browser would ask before the page is loaded again.
func (b *browser) asks() bool {
	b.t.Helper()
	return evaluate[bool](b, `!window.dispatchEvent(new Event("beforeunload", { cancelable: true }))`)
}

// Back, a reload and links ask before they lose what was entered, or a key that is shown once and was not copied.
func TestBrowserUnsaved(t *testing.T) {
	t.Parallel()
	i, tenant := newTenant(t)
	s := i.serve()
	b := s.newBrowser()
	b.open(s.link(tenant, "admin"))
	b.arrived("Overview")
	b.portal("/keys", "API keys")
	b.click("New key")
	if b.asks() {
		t.Error("an untouched form asks")
	}
	b.fill("Name", "website")
	if !b.asks() {
		t.Error("a form with input does not ask before a reload")
	}
	for range 2 {
		b.run("history.back()")
		b.sees("Discard your changes?")
		b.look("unsaved-input")
		if active := evaluate[string](b, `document.querySelector(".nav-item.active").innerText.trim()`); active != "API keys" {
			t.Errorf("the navigation is at %q", active)
		}
		b.click("Keep editing")
		b.wait("the form with what was entered", labelled("Name")+`?.value === "website"`)
	}
	if address := evaluate[string](b, "location.hash"); address != "#/integrations/keys" {
		t.Errorf("the address is %s", address)
	}

	b.click("Create key")
	b.shown("API key")
	if !b.asks() {
		t.Error("a key that was not copied does not ask before a reload")
	}
	b.run("history.back()")
	b.sees("Leave without a copy?")
	b.look("unsaved-key")
	b.click("Stay")
	b.shown("API key")
	b.run(`Object.defineProperty(navigator, "clipboard", { value: { writeText: async () => {} } })`)
	b.click("Copy API key")
	b.sees("Copied")
	if b.asks() {
		t.Error("a key that was copied asks")
	}
	b.run("history.back()")
	b.arrived("Overview")
	b.closed()

	b.portal("/keys", "API keys")
	b.click("New key")
	b.fill("Name", "shop")
	b.run("history.back()")
	b.click("Discard")
	b.arrived("Overview")
	b.closed()

	b.portal("/imports", "Import and export")
	b.uploadCSV(t, "Name,Email\nAda,ada@example.com\n") // which leads on without a question
	b.sees("Ada")
	b.chooseField("Email", "company")
	b.click("Webhooks")
	b.sees("Discard your changes?")
	b.click("Discard")
	b.arrived("Webhooks")
}

// expire lets the session of the portal end by its clock, until the returned function is called.
func (b *browser) expire() (restore func()) {
	b.t.Helper()
	b.run(`(() => {
		const [now, request] = [Date.now.bind(Date), window.fetch];
		let ahead = 0;
		window.restore = () => { Date.now = now; window.fetch = request; };
		window.fetch = () => Promise.reject(new TypeError("no connection"));
		Date.now = () => now() + (ahead += 48 * 3_600_000);
	})()`)
	return func() { b.run("restore()") }
}

// What was entered outlives the session. It is saved once the member has signed in again in another tab, or a new link of the
// same tenant was opened.
func TestBrowserPortalKeepsAForm(t *testing.T) {
	t.Parallel()
	i, tenant := newTenant(t)
	s := i.serve()
	s.member(tenant, "ada@example.com", "admin")
	b := s.newBrowser()
	b.forgiven = "the server responded with a status"
	b.enter("ada@example.com")
	b.portal("/keys", "API keys")
	b.click("New key")
	b.fill("Name", "website")
	restore := b.expire()
	b.sees("Your session has expired. Sign in again in another tab, then try again here. What you have entered stays.")
	b.look("portal-expired")
	b.click("Create key")
	b.wait("the form with what was entered", labelled("Name")+`?.value === "website"`)
	second := b.newTab(s)
	second.enter("ada@example.com")
	restore()
	// tabs have 300 ms to answer
	b.wait("the key", `document.querySelector(".integrations-copy") || (document.querySelector(".integrations-dialog button[type=submit]:not(:disabled)")?.click(), false)`)
	b.click("I have stored it")

	linked := s.newBrowser()
	linked.forgiven = b.forgiven
	linked.open(s.link(tenant, "admin"))
	linked.arrived("Overview")
	linked.portal("/keys", "API keys")
	linked.click("New key")
	linked.fill("Name", "shop")
	linked.expire()
	linked.sees("This link has expired. Open a new one in the address bar of this tab, then try again.")
	_, token, _ := strings.Cut(s.link(tenant, "admin"), "#")
	linked.run(`(() => { // the clock is right again when the link has been taken
		const replace = history.replaceState;
		history.replaceState = (...state) => {
			history.replaceState = replace;
			restore();
			replace.apply(history, state);
		};
		location.hash = ` + quote(token) + `;
	})()`)
	linked.wait("the form without a fault", `document.querySelector(".integrations-dialog") && !document.querySelector(".integrations-dialog .alert.danger")`)
	if address := evaluate[string](linked, "location.href"); strings.Contains(address, "token") {
		t.Errorf("the address is still %s", address)
	}
	linked.click("Create key")
	linked.shown("API key")
	linked.click("I have stored it")

	linked.click("New key")
	linked.fill("Name", "shop")
	linked.expire()
	linked.sees("This link has expired.")
	linked.click("Cancel")
	linked.signedOut("This link has expired or was revoked. Open it again from the application that you came from.")
}

// On a phone, a deletion is confirmed without covering a button, and a failed search says so. An unknown address has a
// page, and a wrong password is named.
func TestBrowserPortalOnAPhone(t *testing.T) {
	t.Parallel()
	i, tenant, key := newKey(t)
	i.must("webhook", "create", tenant, "inspect:", "--name", "Look")
	s := i.serve()
	s.member(tenant, "ada@example.com", "admin")
	s.client(key).expect(http.StatusCreated, http.MethodPost, contactsPath, `{"name":"Ada Lovelace"}`)
	b := s.newBrowser()
	b.forgiven = "the server responded with a status"
	b.enter("ada@example.com")
	b.resize(390, 844, "light")
	b.portal("/events", "Events")
	b.matches("Contact created.*Ada Lovelace")
	b.portal("/webhooks", "Webhooks")
	b.clickInMenu("More for Look", "Delete")
	deleted := b.notices("The webhook was deleted.")
	b.click("Delete webhook")
	deleted()
	if covered := evaluate[[]string](b, `(() => {
		const toast = document.querySelector(".toast").getBoundingClientRect();
		return [...document.querySelectorAll("button, a.btn:not(.integrations-skip)")].filter((el) => el.checkVisibility()).filter((el) => {
			const box = el.getBoundingClientRect();
			return box.width > 1 && box.left < toast.right && box.right > toast.left && box.top < toast.bottom && box.bottom > toast.top;
		}).map((el) => el.ariaLabel || el.textContent);
	})()`); len(covered) > 0 {
		t.Errorf("the toast covers %q", covered)
	}
	b.shot("portal-toast")

	b.portal("/contacts", "Contacts")
	b.sees("Ada Lovelace")
	b.run(`window.request = window.fetch; window.fetch = () => Promise.reject(new TypeError("no connection"))`)
	b.fill("Search by name, email, phone or company", "grace")
	b.sees("The server cannot be reached. What you see was loaded before.")
	b.shot("portal-offline")
	b.run("window.fetch = window.request")
	b.click("Retry")
	b.sees("Nothing found")
	b.wait("no fault", `!document.querySelector(".integrations-failed")`)

	b.run(`document.querySelector('[title="Account"]').click()`)
	b.fill("New password", "another password")
	b.fill("Current password", "not the password")
	b.click("Save")
	b.sees("The current password is wrong.")
	b.click("Cancel")
	b.closed()
	for _, pages := range []string{"/portal/#/nope", portalPages + "/nope"} {
		b.open(pages)
		b.sees("This page does not exist")
		b.look("portal-missing")
		b.resize(390, 844, "light")
		b.click("Overview")
		b.arrived("Overview")
	}
	admin := s.newBrowser().signIn(s)
	for _, pages := range []string{"/_/#/nope", dashboardPages + "/nope"} {
		admin.open(pages)
		admin.sees("This page does not exist")
	}
	admin.open("/_/#/")
	admin.wait("the overview", `document.querySelector(".breadcrumbs [aria-current]")?.textContent === "Overview"`)
}
