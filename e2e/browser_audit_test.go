package e2e

import (
	"fmt"
	"net/http"
	"strings"
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

// Each kind of entry whose record has a page links to it, and a deleted record to none.
func TestBrowserAuditLinks(t *testing.T) {
	t.Parallel()
	i, acme, secret := newKey(t)
	s := i.serve()
	c, admin := s.client(secret), s.signIn()
	r := newReceiver(t)
	key := str(t, i.one("key", "create", "Acme", "--name", "shop"), "id")
	gone := str(t, i.one("key", "create", "Acme", "--name", "old website"), "id")
	i.must("key", "revoke", gone)
	admin.expect(http.StatusNoContent, http.MethodDelete, "/api/collections/api_keys/records/"+gone, "")
	webhook := str(t, i.one("webhook", "create", "Acme", r.URL, "--name", "Billing"), "id")
	inbound := str(t, i.one("inbound", "create", "Acme", "--name", "Forms"), "id")
	i.must("member", "create", "--tenant", "Acme", "--email", "ada@example.com")
	create := func(body string) string {
		return str(t, c.expect(http.StatusCreated, http.MethodPost, contactsPath, body).data(), "id")
	}
	contact, other := create(`{"name":"Ada"}`), create(`{"name":"Ada L."}`)
	admin.expect(http.StatusOK, http.MethodPost, "/api/integrations/tenants/"+acme+"/contacts/"+contact+"/merge", `{"from":["`+other+`"]}`)
	event := str(t, admin.expect(http.StatusOK, http.MethodGet, "/api/integrations/events?limit=1", "").json()["data"].([]any)[0].(map[string]any), "id")
	admin.expect(http.StatusOK, http.MethodPost, "/api/integrations/events/"+event+"/redeliver", `{}`)
	imported := str(t, admin.expect(http.StatusOK, http.MethodPost, "/api/integrations/imports?tenant="+acme+"&name=people.csv", "name\nBob\n", "Content-Type", "text/csv").data(), "id")
	admin.expect(http.StatusOK, http.MethodPost, "/api/integrations/imports/"+imported+"/start", `{}`)
	superuser := str(t, admin.expect(http.StatusOK, http.MethodGet, "/api/collections/_superusers/records", "").json()["items"].([]any)[0].(map[string]any), "id")
	b := s.newBrowser().signIn(s)

	b.integrations("/audit", "Audit log")
	b.sees("people.csv")
	const pages = "#/settings/integrations"
	for kind, address := range map[string]string{
		"tenants": pages + "/tenants?search=Acme", "api_keys": pages + "/keys/" + key, "webhooks": pages + "/webhooks/" + webhook,
		"inbound_webhooks": pages + "/inbound/" + inbound + "/requests", "tenant_members": pages + "/members?search=ada%40example.com",
		"contacts": pages + "/contacts/" + contact, "imports": pages + "/imports/" + imported, "events": pages + "/events?event=" + strings.TrimPrefix(event, "evt_"),
		"_superusers": "#/collections?collection=_superusers&record=" + superuser,
	} {
		b.wait("the link of "+kind+" to "+address, `[...document.querySelectorAll("td[data-name=Record] a")].some((el) => el.getAttribute("href") === `+quote(address)+`)`)
	}
	b.look("audit-links")
	b.sees("old website")
	b.wait("no link to a deleted key", `[...document.querySelectorAll("td[data-name=Record] a")].every((el) => !el.getAttribute("href").includes(`+quote(gone)+`))`)
}
