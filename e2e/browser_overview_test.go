package e2e

import (
	"net/http"
	"testing"
)

// After signing in, an admin sees the overview with activity and problems, which links to where problems are fixed.
func TestBrowserOverview(t *testing.T) {
	t.Parallel()
	i := newInstallation(t).superuser()
	tenant := str(t, i.one("tenant", "create", "Acme"), "id")
	key := str(t, i.one("key", "create", tenant, "--name", "website"), "key")
	r := newReceiver(t)
	failing := i.one("webhook", "create", tenant, r.URL)
	r.set(str(t, failing, "secret"), func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) })
	s := i.serve()
	b := s.newBrowser()

	b.open("/_/")
	b.fill("Email", superuserEmail)
	b.fill("Password", superuserPassword)
	b.click("Login")
	b.wait("the overview", `document.querySelector(".breadcrumbs [aria-current]")?.textContent === "Overview"`)
	b.sees("Nothing needs your attention.")
	b.sees("No contacts yet")
	active := evaluate[[]string](b, `[...document.querySelectorAll(".app-main-nav .header-link")].map((el) => el.innerText.trim() + (el.classList.contains("active") ? "!" : ""))`)
	if len(active) != 4 || active[0] != "Integrations!" || active[3] != "Settings" {
		t.Errorf("the header has %q", active)
	}
	b.look("overview-empty")

	c := s.client(key)
	c.do("POST", contactsPath, `{"name":"Ada Lovelace"}`)
	c.do("POST", contactsPath, `{"name":"Grace Hopper"}`)
	c.do("GET", contactsPath+"/nobody", "")
	b.sees("fails: none of")
	b.wait("the pictures", `document.querySelectorAll(".integrations-chart svg rect.plain").length >= 1`)
	b.sees("2 created, 0 updated, 0 deleted")
	b.click("Events as a table")
	b.wait("the table", `[...document.querySelectorAll(".integrations-chart-table tbody tr")].some((el) => el.cells.length === 4 && el.cells[1].innerText === "2")`)
	b.look("overview")
	b.click("Its deliveries")
	b.sees("500")

	b.run(`[...document.querySelectorAll(".app-main-nav .header-link")].find((el) => el.innerText.trim() === "Settings").click()`)
	b.wait("the settings", `document.querySelector(".app-main-nav .header-link.active")?.innerText.trim() === "Settings"`)
}
