package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// Contacts are the first collection unless an admin unpins them, and a contact links to its events and
// their deliveries.
func TestBrowserContacts(t *testing.T) {
	t.Parallel()
	i, tenant, key := newKey(t)
	i.must("webhook", "create", tenant, "inspect:", "--name", "Look")
	s := i.serve()
	id := str(t, s.client(key).do(http.MethodPost, contactsPath, `{"name":"Ada Lovelace","email":"ada@example.com"}`).data(), "id")

	b := s.newBrowser().signIn(s)
	b.open("/_/#/collections")
	first := `document.querySelector(".collections-list .nav-group:not([hidden]) .nav-item")`
	b.wait("the contacts first", first+`?.textContent.trim() === "contacts"`)
	b.wait("the contacts opened", first+`.classList.contains("active")`)
	b.sees("Ada Lovelace")
	b.shot("contacts-first")

	b.open("/_/#/collections?collection=contacts&record=" + id)
	b.wait("the link of the contact", `document.querySelector(".modal-header .integrations-contact-events")`)
	b.shot("contact-record")
	b.click("Events and deliveries")
	b.wait("the page of the contact", `document.querySelector(".breadcrumbs [aria-current]")?.textContent === "Ada Lovelace"`)
	b.sees("ada@example.com")
	b.sees("Contact created")
	b.sees("API key")
	b.sees("Delivered Look")
	b.click("Details of the delivery")
	b.sees("204 accepted")
	b.click("Close")
	b.closed()

	b.open("/_/#/collections")
	b.wait("the contacts first", first+`?.textContent.trim() === "contacts"`)
	b.run(first + `.querySelector(".pin").click()`)
	b.wait("other collections first", first+`?.textContent.trim() !== "contacts"`)
	b.open("/api/health")
	b.open("/_/#/collections")
	b.wait("other collections still first", first+` && `+first+`.textContent.trim() !== "contacts"`)
}

// Superusers and admin members find, change and delete contacts; viewers only look at them.
func TestBrowserContactPages(t *testing.T) {
	t.Parallel()
	i, tenant, key := newKey(t)
	for n := range 12 {
		i.must("webhook", "create", tenant, "inspect:", "--name", fmt.Sprintf("Receiver %d", n+1))
	}
	s := i.serve()
	api := s.client(key)
	s.member(tenant, "viewer@example.com", "viewer")
	s.member(tenant, "admin@example.com", "admin")

	viewer := s.newBrowser()
	viewer.enter("viewer@example.com")
	viewer.portal("/contacts", "Contacts")
	viewer.sees("No contacts yet")
	viewer.look("portal-contacts-none")

	for n := range 30 {
		api.expect(http.StatusCreated, http.MethodPost, contactsPath, fmt.Sprintf(`{"name":"Contact %02d","email":"c%[1]d@example.com"}`, n))
	}
	long := strings.Repeat("Wolfeschlegelsteinhausenbergerdorff ", 6)
	for _, fields := range []string{
		`"name":"` + long + `","email":"` + strings.Repeat("a", 60) + `@` + strings.Repeat("b", 60) + `.example.com","company":"` + long + `"`,
		`"name":"عبد الرحمن بن محمد الفارابي","company":"شركة المحركات التحليلية"`,
		`"name":"諸葛亮孔明・徳川家康","company":"解析機関株式会社"`,
	} {
		api.expect(http.StatusCreated, http.MethodPost, contactsPath, "{"+fields+"}")
	}
	id := str(t, api.do(http.MethodPost, contactsPath, `{"name":"Ada Lovelace","email":"ada@example.com","phone":"+442079460958","externalId":"crm-1815"}`).data(), "id")
	path := contactsPath + "/" + id

	b := s.newBrowser().signIn(s)
	b.integrations("/contacts", "Contacts")
	b.sees("34 contacts")
	b.look("contacts")
	b.click("Name")
	b.wait("the order in the address", `location.hash.includes("sort=name")`)
	b.sees("Contact 00")
	b.click("Next contacts")
	b.sees("Page 2")
	b.wait("the end of the list", `!document.querySelector(".integrations-table").innerText.includes("Contact 00")`)
	b.run("location.reload()")
	b.wait("the same page", `document.querySelector(".integrations-table")?.innerText.includes("諸葛亮孔明")`)
	b.fill("Search by name, email, phone or company", "lovel")
	b.sees("1 contact found")
	b.wait("the search in the address", `location.hash.includes("search=lovel") && !location.hash.includes("cursor")`)
	b.fill("Search by name, email, phone or company", "nobody")
	b.sees("Nothing found")
	b.look("contacts-nothing")
	b.fill("Search by name, email, phone or company", "lovel")
	b.wait("the contact in the list", `document.querySelector(".integrations-table tbody a")`)
	b.run(`document.querySelector(".integrations-table tbody a").click()`)
	b.wait("the contact", `document.querySelector(".breadcrumbs [aria-current]")?.textContent === "Ada Lovelace"`)
	b.sees("12 delivered")
	b.sees("crm-1815")
	b.look("contact")
	b.click("12 delivered")
	b.click("Show all 12")
	b.sees("Payload")
	b.click("Close")
	b.closed()

	b.click("Edit contact")
	b.fill("Email", "nonsense")
	b.click("Save")
	b.sees("is not a valid email address")
	b.fill("Email", "countess@example.com")
	b.fill("Phone", "")
	b.look("contact-edit")
	api.expect(http.StatusOK, http.MethodPatch, path, `{"company":"Analytical Engines"}`)
	b.click("Save")
	b.sees("has changed since you opened this window")
	b.click("Cancel")
	b.closed()
	b.sees("Analytical Engines")
	b.click("Edit contact")
	b.fill("Email", "countess@example.com")
	b.fill("Phone", "")
	b.click("Save")
	b.closed()
	b.sees("countess@example.com")
	b.sees(superuserEmail)
	changed := api.do(http.MethodGet, path, "").data()
	if changed["email"] != "countess@example.com" || changed["phone"] != nil || changed["company"] != "Analytical Engines" {
		t.Errorf("the contact is %v", changed)
	}

	viewer.sees("34 contacts")
	viewer.look("portal-contacts")
	viewer.portal("/contacts/"+id, "Ada Lovelace")
	viewer.sees("Dashboard")
	viewer.look("portal-contact")
	viewer.wait("no button to change it, nor people", `!/Edit|Delete|`+superuserEmail+`/.test(document.querySelector(".page-content").innerText)`)

	admin := s.newBrowser()
	admin.enter("admin@example.com")
	admin.portal("/contacts/"+id, "Ada Lovelace")
	admin.sees(superuserEmail)
	admin.click("Delete contact")
	admin.sees("is deleted for good")
	admin.look("portal-contact-delete")
	admin.click("Delete contact")
	admin.arrived("Contacts")
	admin.sees("33 contacts")
	viewer.sees("This contact does not exist")
	viewer.look("portal-contact-gone")
	api.expect(http.StatusNotFound, http.MethodGet, path, "")
}
