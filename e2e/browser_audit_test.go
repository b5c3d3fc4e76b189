package e2e

import (
	"fmt"
	"net/http"
	"testing"
)

// The audit log shows who did what, by tenant and page by page.
func TestBrowserAuditLog(t *testing.T) {
	t.Parallel()
	i := newInstallation(t).superuser()
	acme := str(t, i.one("tenant", "create", "Acme"), "id")
	umbrella := str(t, i.one("tenant", "create", "Umbrella"), "id")
	i.one("key", "create", umbrella, "--name", "website")
	s := i.serve()
	admin := s.signIn()
	webhook := str(t, admin.do(http.MethodPost, "/api/collections/webhooks/records",
		fmt.Sprintf(`{"tenant":%q,"name":"Billing","url":"https://example.com"}`, acme)).json(), "id")
	admin.expect(http.StatusOK, http.MethodPatch, "/api/collections/webhooks/records/"+webhook, `{"maxPerSecond":7}`)
	b := s.newBrowser().signIn(s)

	b.integrations("/audit", "Audit log")
	b.sees("maxPerSecond")
	b.sees("Billing")
	b.sees("Command line")
	b.sees("website")
	b.look("audit")
	b.choose("Tenant", "Acme")
	b.wait("that only its entries are shown", `!document.querySelector(".integrations-table").innerText.includes("website")`)
	b.sees("Billing")

	for n := range 60 {
		admin.expect(http.StatusOK, http.MethodPatch, "/api/collections/webhooks/records/"+webhook, fmt.Sprintf(`{"maxPerSecond":%d}`, 100+n))
	}
	b.click("Older entries")
	b.sees("Page 2")
	b.sees("Created")
	b.click("Newer entries")
	b.sees("Latest")
}
