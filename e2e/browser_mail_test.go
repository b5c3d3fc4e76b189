package e2e

import (
	"net/http"
	"testing"
)

// The overview of the dashboard warns of settings with which mail servers refuse mails.
func TestBrowserMailWarnings(t *testing.T) {
	t.Parallel()
	i, _ := newTenant(t)
	s := i.serve()
	admin := s.signIn()
	admin.expect(http.StatusOK, http.MethodPatch, "/api/settings", `{"meta":{"senderAddress":"support@example.com"}}`)
	b := s.newBrowser().signIn(s)
	b.integrations("", "Overview")
	b.sees("The sender address of emails is still PocketBase's example")
	b.look("mail-warnings")
	b.integrations("/tenants", "Tenants")
	admin.expect(http.StatusOK, http.MethodPatch, "/api/settings", `{"meta":{"senderAddress":"crm@example.org"}}`)
	b.integrations("", "Overview")
	b.sees("Nothing needs your attention.")
	if evaluate[bool](b, `document.body.innerText.includes("sender address")`) {
		t.Error("the warning stays")
	}
}
