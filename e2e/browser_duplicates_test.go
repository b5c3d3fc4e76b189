package e2e

import (
	"fmt"
	"net/http"
	"testing"
)

// In the browser, duplicates are found and merged; viewers only see them.
func TestBrowserDuplicates(t *testing.T) {
	t.Parallel()
	i, tenant := newTenant(t)
	s := i.serve()
	admin := s.signIn()
	for _, fields := range []string{
		`"name":"Ada Lovelace","email":"ada@example.com"`, `"name":"A. Lovelace","email":"ADA@example.com","phone":"+442079460958","externalId":"crm-1815"`,
		`"name":"Alan Turing","email":"alan@example.com"`, `"name":"Countess","email":"Ada@example.com","company":"Analytical Engines Ltd","externalId":"crm-1852"`,
	} {
		admin.expect(http.StatusOK, http.MethodPost, "/api/collections/contacts/records", fmt.Sprintf(`{"tenant":%q,%s}`, tenant, fields))
	}
	s.member(tenant, "viewer@example.com", "viewer")
	viewer := s.newBrowser()
	viewer.enter("viewer@example.com")
	viewer.portal("/duplicates", "Duplicates")
	viewer.sees("ada@example.com")
	viewer.wait("no button", `!document.querySelector(".page").innerText.includes("Merge…")`)
	viewer.look("portal-duplicates")

	b := s.newBrowser().signIn(s)
	b.integrations("/duplicates", "Duplicates")
	b.sees("A. Lovelace · +442079460958 · crm-1815")
	b.wait("the tenant of the group", `document.querySelector(".integrations-table tbody tr[data-id]").innerText.includes("Acme")`)
	b.look("duplicates")
	b.click("Merge…")
	b.sees("crm-1815")
	b.choose("Name", "A. Lovelace")
	b.wait("one of the external IDs", `document.querySelector(".integrations-try-result").innerText.includes("crm-1815")`)
	b.choose("External ID", "crm-1852")
	b.wait("the outcome", `document.querySelector(".integrations-try-result").innerText.includes("crm-1852") && document.querySelector(".integrations-try-result").innerText.includes("A. Lovelace")`)
	b.look("merge")
	b.click("Merge")
	b.closed()
	b.sees("No duplicates")
	b.look("duplicates-none")
	found := admin.do(http.MethodGet, "/api/collections/contacts/records?sort=name&filter=tenant='"+tenant+"'", "").json()["items"].([]any)
	if len(found) != 2 {
		t.Fatalf("%d contacts are left", len(found))
	}
	merged := found[0].(map[string]any)
	for name, want := range map[string]string{"name": "A. Lovelace", "email": "ada@example.com", "phone": "+442079460958", "company": "Analytical Engines Ltd", "externalId": "crm-1852"} {
		if merged[name] != want {
			t.Errorf("%s is %v, not %s", name, merged[name], want)
		}
	}
}
