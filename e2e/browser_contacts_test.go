package e2e

import (
	"net/http"
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
	b.wait("the page of the contact", `document.querySelector(".breadcrumbs [aria-current]")?.textContent === "Contact"`)
	b.sees("Ada Lovelace")
	b.sees("Contact created")
	b.sees("Delivered Look")
	b.look("contact-events")
	b.click("Details")
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
