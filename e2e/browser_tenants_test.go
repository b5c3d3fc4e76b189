package e2e

import (
	"net/http"
	"testing"

	"contactbase/internal/testenv"
)

// Two admins in two browsers see each other's changes without reloading their pages.
func TestBrowserTwoAdmins(t *testing.T) {
	t.Parallel()
	testenv.Long(t, "clicks through two browsers; the tests of the API change the same records")
	i, _, key := newKey(t)
	s := i.serve()
	ann, bob := s.newBrowser().signIn(s), s.newBrowser().signIn(s)

	ann.integrations("/tenants", "Tenants")
	bob.integrations("/tenants", "Tenants")
	ann.click("New tenant")
	ann.fill("Name", "Umbrella")
	ann.fill("Requests per minute", "120")
	ann.look("tenant-form")
	ann.click("Create tenant")
	ann.closed()
	bob.sees("Umbrella")
	bob.sees("120")
	bob.sees("0 of 64 MiB")
	bob.click("Enabled for Acme")
	bob.sees("Calls with its keys and requests to its inbound webhooks are rejected immediately")
	bob.look("tenant-disable")
	bob.click("Cancel")
	bob.closed()
	bob.wait("that it is still on", `document.querySelectorAll(".integrations-switch :checked:enabled").length === 2`)
	bob.click("Enabled for Acme")
	bob.click("Disable API")
	bob.closed()
	ann.sees("Disabled for Acme")
	if answer := s.client(key).do(http.MethodGet, contactsPath, ""); answer.status != http.StatusForbidden {
		t.Errorf("with the API disabled, the key returns %s", answer)
	}
	ann.look("tenants")
	ann.click("Edit Umbrella")
	ann.fill("Name", "Parasol")
	ann.click("Save")
	ann.closed()
	bob.sees("Parasol")
	ann.integrations("/keys", "API keys") // a key for the wrong customer would be a leak: no tenant is preselected
	ann.click("New key")
	ann.fill("Name", "import")
	ann.click("Create key")
	ann.sees("Choose a tenant.")
	ann.look("key-without-tenant")
	ann.choose("Tenant", "Parasol")
	ann.click("Cancel")
	ann.closed()
	ann.choose("Tenant", "Acme")
	ann.click("New key")
	ann.wait("the tenant of the filter", labelled("Tenant")+`?.selectedOptions[0]?.text === "Acme"`)
	ann.click("Cancel")
	ann.closed()
	ann.integrations("/tenants", "Tenants")
	bob.clickInMenu("More for Parasol", "Delete")
	bob.sees("0 members are deleted with it")
	bob.fill("Type its name to confirm", "Umbrella")
	bob.click("Delete tenant")
	bob.sees("The name does not match.")
	bob.fill("Type its name to confirm", "Parasol")
	bob.click("Delete tenant")
	bob.closed()
	ann.wait("that it is gone", `!document.body.innerText.includes("Parasol")`)

	ann.integrations("/keys", "API keys")
	ann.sees("Tenant disabled")
	bob.integrations("/keys", "API keys")
	bob.click("Revoke the key website")
	bob.click("Revoke key")
	ann.sees("Revoked")
}

// A moving tenant is shown as closed, and its disabled switch shows the reason.
func TestBrowserMovingTenant(t *testing.T) {
	t.Parallel()
	testenv.Long(t, "moves a tenant only to look at its page; the tests of moves look at the API")
	i, tenant := newTenant(t)
	i.must("tenant", "freeze", tenant)
	s := i.serve()
	b := s.newBrowser().signIn(s)
	b.integrations("/tenants", "Tenants")
	b.sees("being moved: read-only")
	b.click("Enabled for Acme")
	b.click("Disable API")
	b.sees("The tenant is moving to another installation")
	i.must("tenant", "unfreeze", tenant)
	b.integrations("/tenants", "Tenants")
	b.wait("that it is open", `!document.body.innerText.includes("being moved: read-only")`)
}
