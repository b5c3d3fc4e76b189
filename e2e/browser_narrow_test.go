package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"contactbase/internal/testenv"
)

// With long names, all buttons of all lists are in view on a laptop and a phone, and the address of a list keeps its
// filters and its order.
func TestBrowserNarrow(t *testing.T) {
	t.Parallel()
	testenv.Long(t, "opens eight pages at three widths")
	i, tenant := newTenant(t)
	const long = "The integrations team of a customer whose name is as long as some really are, number "
	i.must("key", "create", tenant, "--name", long+"1")
	for n := range 3 {
		i.must("webhook", "create", tenant, fmt.Sprintf("https://example.com/%s/%d", strings.Repeat("path/", 20), n), "--name", fmt.Sprint(long, n))
	}
	i.must("inbound", "create", tenant, "--name", long+"1")
	s := i.serve()
	admin := s.signIn()
	admin.expect(http.StatusOK, http.MethodPatch, "/api/collections/tenants/records/"+tenant, fmt.Sprintf(`{"name":%q}`, long))
	for n := range 7 {
		admin.expect(http.StatusOK, http.MethodPost, "/api/collections/contacts/records",
			fmt.Sprintf(`{"tenant":%q,"name":"Ada Lovelace","company":%q,"externalId":"crm-%d"}`, tenant, long, n))
	}
	b := s.newBrowser().signIn(s)
	for path, title := range map[string]string{
		"": "Overview", "/keys": "API keys", "/webhooks": "Webhooks", "/events": "Events", "/inbound": "Inbound webhooks",
		"/duplicates?by=name": "Duplicates", "/tenants": "Tenants", "/contacts": "Contacts", "/imports": "Import and export",
		"/audit": "Audit log", "/members": "Members", "/keys/unknown": "Calls",
	} {
		b.integrations(path, title)
		for _, width := range []int64{1440, 1024, 390} {
			b.resize(width, 800, "light")
			wide := evaluate[[]string](b, `[...document.querySelectorAll(".page-table-wrapper")].filter((el) => el.scrollWidth > el.clientWidth + 1).map((el) => el.ariaLabel)`)
			hidden := evaluate[[]string](b, `[...document.querySelectorAll(".integrations-buttons :is(button, a)")].filter((el) => el.checkVisibility() &&
				el.getBoundingClientRect().right > innerWidth).map((el) => el.ariaLabel || el.textContent)`)
			if len(wide)+len(hidden) > 0 {
				t.Errorf("%s at %d pixels: tables are too wide: %q, buttons out of view: %q", title, width, wide, hidden)
			}
		}
		b.resize(1280, 900, "light")
	}

	b.integrations("/duplicates?by=name", "Duplicates")
	b.sees("and 2 more")
	b.look("duplicates-long")
	b.integrations("/webhooks", "Webhooks")
	b.run(`document.querySelector(".integrations-skip").click()`) // which shows once it has the focus
	b.wait("the focus in the content", `document.activeElement.matches(".page-content")`)
	b.fill("Search by name or URL", "number")
	b.wait("the newest one first", `document.querySelector(".integrations-table tbody tr[data-id]")?.innerText.includes("number 2")`)
	b.click("Pending")
	b.wait("the largest number first", `document.querySelector("th[aria-sort=descending]")?.innerText.includes("Pending")`)
	b.click("Receiver")
	b.wait("the first name first", `document.querySelector("th[aria-sort=ascending]")?.innerText.includes("Receiver") && document.querySelector(".integrations-table tbody tr[data-id]")?.innerText.includes("number 0")`)
	b.click("Receiver")
	b.wait("the last name first", `document.querySelector("th[aria-sort=descending]")?.innerText.includes("Receiver") && document.querySelector(".integrations-table tbody tr[data-id]")?.innerText.includes("number 2")`)
	b.look("webhooks-long")
	b.integrations("/keys", "API keys")
	b.run("history.back()")
	b.wait("the same list", `document.querySelector(".integrations-table tbody tr[data-id]")?.innerText.includes("number 2") && `+labelled("Search by name or URL")+`?.value === "number"`)
	b.forgiven = "500"
	b.run(`window.fetch = () => Promise.resolve(new Response("{}", { status: 500 })); location.hash = "#/settings/integrations/inbound"`)
	b.wait("an error without a skeleton", `document.querySelector(".page .alert.danger") && ![...document.querySelectorAll(".skeleton-loader")].some((el) => el.checkVisibility())`)
}
