package e2e

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"contactbase/internal/testkit"
)

var invitationInMail = regexp.MustCompile(`/portal/(#/invitation/cmv_\w+)`)

// A superuser invites a member of a tenant, who chooses a password with the link in the mail, and signs in.
func TestBrowserInvitation(t *testing.T) {
	t.Parallel()
	i, tenant := newTenant(t)
	s := i.serve()
	mails := testkit.ListenForMail(t)
	s.signIn().expect(http.StatusOK, http.MethodPatch, "/api/settings", fmt.Sprintf(
		`{"smtp":{"enabled":true,"host":"127.0.0.1","port":%d},"meta":{"senderAddress":"crm@example.com","appURL":%q}}`, mails.Port, s.base))
	b := s.newBrowser().signIn(s)
	b.integrations("/members?tenant="+tenant, "Members")
	b.sees("Nothing found")
	b.click("Invite member")
	b.look("member-invite")
	b.fill("Email", "ada@example.com")
	b.fill("Name", "Ada Lovelace")
	sent := b.notices("The invitation was sent to Ada Lovelace.")
	b.click("Invite")
	sent()
	b.closed()
	b.matches("Ada Lovelace.*ada@example.com.*Viewer.*Invited.*expires in 3 days")
	b.look("members")
	b.choose("Status", "Active")
	b.sees("Nothing found")
	if address := evaluate[string](b, "location.hash"); !strings.HasSuffix(address, "?tenant="+tenant+"&status=active") {
		t.Errorf("the address is %s", address)
	}
	await(t, "a mail", func() bool { return len(mails.Mails()) > 0 })
	mail := mails.Mails()[0]
	found := invitationInMail.FindStringSubmatch(strings.NewReplacer("=\r\n", "", "=3D", "=").Replace(mail.Text))
	if mail.To != "ada@example.com" || found == nil {
		t.Fatalf("the mail to %s is\n%s", mail.To, mail.Text)
	}

	guest := s.newBrowser()
	guest.forgiven = "the server responded with a status" // Chromium logs refusals
	guest.open("/portal/" + found[1])
	guest.sees("You are invited to Acme. You will sign in as ada@example.com.")
	guest.run("location.reload()")
	guest.sees("You are invited to Acme. You will sign in as ada@example.com.")
	if address := evaluate[string](guest, "location.href"); strings.Contains(address, "cmv_") {
		t.Errorf("the address is still %s", address)
	}
	guest.look("portal-invitation")
	guest.fill("Password", "short")
	guest.click("Set password")
	guest.sees("Choose a password of at least 8 characters.")
	focused := func(name string) {
		t.Helper()
		guest.wait("the focus on "+name, `document.activeElement?.name === `+quote(name)+` && document.activeElement.getAttribute("aria-invalid") === "true"`)
	}
	focused("password")
	guest.fill("Password", memberPassword)
	guest.fill("Repeat the password", memberPassword+"!")
	guest.click("Set password")
	guest.sees("The passwords differ. Enter the same password twice.")
	focused("confirmation")
	guest.look("portal-invitation-refused")
	guest.fill("Password", strings.Repeat("ä", 80))
	guest.fill("Repeat the password", strings.Repeat("ä", 80))
	guest.click("Set password")
	focused("password")
	guest.fill("Password", memberPassword)
	guest.fill("Repeat the password", memberPassword)
	guest.click("Set password")
	guest.sees("Your password is set.")
	guest.look("portal-invitation-done")
	guest.open("/api/health") // otherwise only the fragment changes
	guest.open("/portal/" + found[1])
	guest.sees("This invitation was used, replaced, or has expired. If you have already chosen a password, sign in with it.")
	guest.look("portal-invitation-ended")
	guest.open("/api/health")
	guest.enter("ada@example.com")

	b.integrations("/members", "Members")
	b.says("Ada Lovelace", "Status", "Active")
	b.integrations("/tenants", "Tenants")
	b.says("Acme", "Members", "1")
}

// A superuser opens the portal of a tenant in a new tab, and copies a link to it.
func TestBrowserOpenPortal(t *testing.T) {
	t.Parallel()
	i, tenant := newTenant(t)
	s := i.serve()
	b := s.newBrowser().signIn(s)
	b.integrations("/tenants", "Tenants")
	b.look("tenants-members")
	b.clickInMenu("More for Acme", "Copy portal link…")
	b.fill("Name", "Grace")
	b.look("tenant-link")
	b.click("Create link")
	link := b.shown("Link")
	if !strings.HasPrefix(link, s.base+"/portal/#token=eyJ") {
		t.Errorf("the link is %s", link)
	}
	b.click("Done")
	b.closed()
	b.clickInMenu("More for Acme", "Open portal as…")
	b.look("tenant-open-portal")
	b.run(`window.open = () => (window.opened = { sessionStorage: { clear() {} }, location: { replace: (address) => (window.openedAt = address) }, close() {} })`)
	b.click("Open portal")
	b.closed()
	opened := evaluate[string](b, "window.openedAt")
	_, token, found := strings.Cut(opened, "/portal/#token=")
	if !found {
		t.Fatalf("the new tab has %s", opened)
	}
	tab := b.newTab(s)
	tab.open("/portal/#token=" + token)
	tab.arrived("Overview")
	tab.wait("who uses the link", `document.querySelector(".app-header").innerText.includes("Superuser")`)
	b.integrations("/members?tenant="+tenant+"&status=links", "Members")
	b.says("Grace", "Status", "Portal link")
}

// A member who has signed in is signed in in new tabs, and signed out in all at once. A link stays in its tab.
func TestBrowserPortalTabs(t *testing.T) {
	t.Parallel()
	i, tenant := newTenant(t)
	s := i.serve()
	s.member(tenant, "ada@example.com", "admin")
	s.member(tenant, "grace@example.com", "admin")
	first := s.newBrowser()
	linked := first.newTab(s)
	linked.open(s.link(tenant, "admin"))
	linked.arrived("Overview")
	early := first.newTab(s)
	early.open("/portal/")
	early.wait("the form, because only a link is open", `document.querySelector('input[type="password"]')`)

	first.enter("ada@example.com")
	second := first.newTab(s)
	second.portal("/webhooks", "Webhooks")
	second.wait("the same member", `document.querySelector('[title="Account"]').innerText.includes("ada@example.com")`)
	if stored := evaluate[string](second, `JSON.stringify({ ...localStorage }) + document.cookie`); strings.Contains(stored, "eyJ") {
		t.Errorf("the browser stores %s", stored)
	}
	stranger := s.newBrowser()
	stranger.open("/portal/")
	stranger.wait("the form, in another profile", `document.querySelector('input[type="password"]')`)

	second.run(`document.querySelector('[title="Sign out"]').click()`)
	second.signedOut("You are signed out.")
	first.signedOut("You are signed out.")
	third := first.newTab(s)
	third.open("/portal/")
	third.wait("the form, because nobody is signed in", `document.querySelector('input[type="password"]')`)

	first.enter("ada@example.com")
	early.fill("Email", "grace@example.com")
	early.fill("Password", memberPassword)
	early.click("Sign in")
	early.arrived("Overview")
	first.signedOut("Somebody else signed in in another tab.")
	second.open("/api/health")
	second.portal("/keys", "API keys")
	second.wait("the other member", `document.querySelector('[title="Account"]').innerText.includes("grace@example.com")`)
	linked.portal("/keys", "API keys")
	if !evaluate[bool](linked, `document.querySelector(".app-header").innerText.includes("Grace")`) {
		t.Error("the link has ended with the sessions of members")
	}
}
