package e2e

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"contactbase/internal/testenv"
)

const memberPassword = "correct horse battery"

// member creates a member, and returns the id.
func (s *server) member(tenant, email, role string) string {
	s.t.Helper()
	return str(s.t, s.signIn().expect(http.StatusOK, http.MethodPost, "/api/collections/tenant_members/records", fmt.Sprintf(
		`{"tenant":%q,"email":%q,"emailVisibility":true,"role":%q,"password":%q,"passwordConfirm":%[4]q}`, tenant, email, role, memberPassword)).json(), "id")
}

// link returns the path of a portal link.
func (s *server) link(tenant, role string) string {
	s.t.Helper()
	data := s.signIn().expect(http.StatusOK, http.MethodPost, "/api/integrations/tenants/"+tenant+"/portal-link", fmt.Sprintf(`{"role":%q,"name":"Grace"}`, role)).data()
	return "/portal/#token=" + str(s.t, data, "token")
}

// enter signs a member in to the portal.
func (b *browser) enter(email string) {
	b.t.Helper()
	b.open("/portal/")
	b.fill("Email", email)
	b.fill("Password", memberPassword)
	b.click("Sign in")
	b.arrived("Overview")
}

// portal opens a page of the portal, and waits for it.
func (b *browser) portal(path, title string) {
	b.t.Helper()
	b.open("/portal/#/integrations" + path)
	b.arrived(title)
}

func (b *browser) arrived(title string) {
	b.t.Helper()
	b.wait(title, `document.querySelector(".breadcrumbs [aria-current]")?.textContent === `+quote(title))
	b.wait("the content of "+title, `!document.querySelector(".page .skeleton-loader") && document.querySelector(".integrations-content, .integrations-start")`)
}

// signedOut waits for the sign-in form with a reason. Nothing else is on the screen or in the storage.
func (b *browser) signedOut(reason string) {
	b.t.Helper()
	b.wait("the sign-in form", `document.querySelector('input[type="password"]') && document.querySelector("h1")?.textContent === "Sign in"`)
	b.sees(reason)
	if left := evaluate[int](b, `document.querySelectorAll(".modal, .app-header, .integrations-page").length`); left != 0 {
		b.t.Errorf("%d windows and pages are still there", left)
	}
	if stored := evaluate[string](b, `JSON.stringify([{ ...sessionStorage }, { ...localStorage }])`); strings.Contains(stored, "eyJ") {
		b.t.Errorf("the browser still stores %s", stored)
	}
}

// From a link to the first verified event, and what else an admin does.
func TestBrowserPortal(t *testing.T) {
	t.Parallel()
	i, tenant := newTenant(t)
	s := i.serve()
	b := s.newBrowser()

	b.open(s.link(tenant, "admin"))
	b.arrived("Overview")
	if address := evaluate[string](b, "location.href"); strings.Contains(address, "token") {
		t.Errorf("the address is still %s", address)
	}
	b.look("portal-overview")
	b.click("First steps")
	b.sees("Three steps to your first event")
	b.look("portal-start")
	b.click("Create key")
	if key := b.shown("API key"); !strings.HasPrefix(key, "cmk_") {
		t.Errorf("the key is %q", key)
	}
	b.look("portal-key")
	b.click("I have stored it")
	b.click("Inspect events")
	b.click("Send a test event")
	b.sees("Your first event has arrived")
	b.sees("Test event Signature verified")
	b.look("portal-start-done")

	b.portal("/webhooks", "Webhooks")
	b.says("First look", "Health", "Healthy")
	b.look("portal-webhooks")
	b.click("New webhook")
	b.fill("URL", "http://127.0.0.1:1")
	b.sees("The URL must lead to an address on the public internet")
	b.do(chromedp.MouseClickXY(5, 450)) // beside the form, which would discard the input
	b.look("portal-webhook-form")
	b.click("Create webhook")
	b.sees("must")
	b.click("Cancel")
	b.closed()
	b.portal("/inbound", "Inbound webhooks")
	b.click("New inbound webhook")
	b.fill("Name", "Form")
	b.choose("Sender", "Tally")
	b.wait("Tally's scheme", labelled("How does the sender sign?")+`.value === "tally"`)
	b.look("portal-inbound-form")
	b.choose("Sender", "Any sender that uses common field names")
	b.click("Create")
	b.shown("Address")
	b.click("I have stored it")
	b.closed()
	b.click("Try Form")
	b.click("Try")
	b.sees("created Item 1")
	b.look("portal-try")
	b.click("Close")
	b.closed()
	b.portal("/imports", "Import and export")
	b.wait("the way to the guide", `document.querySelector('.page-footer a[href$="/docs/using-the-portal"]')`)
	b.look("portal-imports")
	b.uploadCSV(t, "First Name,Last Name,E-mail 1 - Value,Phone 1 - Value,Notes\nAnn,Reed,ann@example.com ::: other@example.com,+49 30 5550144,x\n,,nonsense,,\n")
	b.click("Check")
	b.sees("1 would be created")
	b.sees(`email: the first valid value of a list counts; "other@example.com" left out`)
	b.look("portal-import-checked")
	b.click("Do not import")
	b.portal("/members", "Members") // which no page leads to
	b.sees("The people who can sign in here.")
	if evaluate[bool](b, `!!document.querySelector("[aria-label='Invite member']")`) {
		t.Error("a link offers to invite a member, which is refused")
	}
	if foreign := b.foreign(); len(foreign) > 0 {
		t.Errorf("the portal requests other hosts: %v", foreign)
	}
}

// Members invite and remove one another and sign in with a password. A removed member sees nothing, not even the
// window that was open.
func TestBrowserPortalMembers(t *testing.T) {
	t.Parallel()
	testenv.Long(t,
		"walks through all dialogs of members; the tests of the API and of expired sessions cover what they do")
	i, tenant, key := newKey(t)
	webhook := str(t, i.one("webhook", "create", tenant, "inspect:", "--name", "Look"), "id")
	s := i.serve()
	id := s.member(tenant, "ada@example.com", "admin")
	s.client(key).expect(http.StatusCreated, http.MethodPost, contactsPath, `{"name":"Hidden Figure"}`)
	b := s.newBrowser()

	b.forgiven = "400" // Chromium logs the refusal
	b.open("/portal/#/reset/x.y.z")
	b.fill("New password", "short")
	b.click("Set password")
	b.sees("This link was used or has expired. Request a new one.")
	b.look("portal-reset-refused")
	b.open("/portal/")
	b.sees("Sign in")
	b.sees("Forgot your password? Ask the company that runs this portal for a new one.") // there is no mail server
	b.look("portal-sign-in")
	b.fill("Email", "ada@example.com")
	b.fill("Password", "wrong password")
	b.click("Sign in")
	b.sees("The email address or password is incorrect.")
	b.enter("ada@example.com")
	b.run(`document.querySelector('[title="Account"]').click()`) // above the page
	b.sees("No mail server is set up")
	b.look("portal-account")
	b.click("Cancel")
	b.click("Members")
	b.arrived("Members")
	b.click("Invite member")
	b.look("portal-add-member")
	b.fill("Email", "grace@example.com")
	b.fill("Name", "Grace Hopper")
	b.click("Invite")
	invitation := b.shown("Link")
	if !regexp.MustCompile(`^http://\S+/portal/#/invitation/cmv_\w{36}$`).MatchString(invitation) {
		t.Errorf("the invitation is %q", invitation)
	}
	b.sees("No email was sent")
	b.click("Done")
	b.closed()
	b.says("Grace Hopper", "Role", "Viewer")
	b.clickInMenu("More for Grace Hopper", "Make admin")
	b.sees("They can then manage keys, webhooks and members")
	b.click("Make admin")
	b.says("Grace Hopper", "Role", "Admin")
	b.look("portal-members")
	b.clickInMenu("More for Grace Hopper", "Remove")
	b.click("Remove")
	b.closed()
	b.wait("the end of the member", `!document.querySelector(".integrations-table").innerText.includes("Grace")`)

	b.webhook(portalPages, webhook)
	b.look("portal-deliveries")
	b.click("Details")
	b.sees("Hidden Figure")
	b.run(`document.querySelector('[title="Sign out"]').click()`) // below the window
	b.signedOut("You are signed out.")

	b.enter("ada@example.com")
	b.webhook(portalPages, webhook)
	b.click("Details")
	b.sees("Hidden Figure")
	b.forgiven = "the server responded with a status"
	s.signIn().expect(http.StatusNoContent, http.MethodDelete, "/api/collections/tenant_members/records/"+id, "")
	b.signedOut("Your session has expired. Sign in again.")
}

// The page ends an expired session even while it is idle. A link that is no longer valid leads back
// to its application.
func TestBrowserPortalExpires(t *testing.T) {
	t.Parallel()
	i, tenant := newTenant(t)
	s := i.serve()
	s.member(tenant, "ada@example.com", "admin")
	s.signIn().expect(http.StatusOK, http.MethodPatch, "/api/collections/tenant_members", `{"authToken":{"duration":10}}`)
	b := s.newBrowser()
	b.forgiven = "the server responded with a status"
	b.enter("ada@example.com")
	b.signedOut("Your session has expired. Sign in again.")

	link := s.link(tenant, "viewer")
	s.signIn().expect(http.StatusOK, http.MethodDelete, "/api/integrations/tenants/"+tenant+"/portal-links", "")
	for _, invalid := range []string{link, link[:len(link)-1], link[:len("/portal/#token=ey")]} {
		b.open("/api/health") // otherwise only the fragment changes
		b.open(invalid)
		b.signedOut("This link has expired or was revoked. Open it again from the application that you came from.")
	}
}

// A link that is opened while a member is signed in asks before it replaces the session, in an open page and
// in one that loads.
func TestBrowserPortalAsksBeforeALink(t *testing.T) {
	t.Parallel()
	testenv.Long(t, "signs in with four sessions, one after another; the test of the portal opens a link")
	i, tenant := newTenant(t)
	s := i.serve()
	ada := s.member(tenant, "ada@example.com", "admin")
	b := s.newBrowser()
	b.forgiven = "the server responded with a status"
	b.enter("ada@example.com")
	link := s.link(tenant, "viewer")
	for _, loads := range []bool{false, true} {
		b.portal("/keys", "API keys")
		if loads {
			b.open("/api/health") // otherwise only the fragment changes
		}
		b.open(link)
		b.sees("You are signed in as ada@example.com.")
		if address := evaluate[string](b, "location.href"); strings.Contains(address, "token") {
			t.Errorf("the address is still %s", address)
		}
		b.look("portal-link")
		b.click("Cancel")
		b.portal("/keys", "API keys")
		b.sees("New key")
	}
	b.open(link)
	b.click("Open the link")
	b.wait("the session of the link", `document.body.innerText.includes("Grace")`)
	b.open(link) // of the same session
	b.arrived("Overview")

	b.run("sessionStorage.clear()")
	b.open("/api/health")
	b.enter("ada@example.com")
	b.open("/api/health")
	s.signIn().expect(http.StatusNoContent, http.MethodDelete, "/api/collections/tenant_members/records/"+ada, "")
	b.open(link) // nobody's session is left
	b.wait("the session of the link", `document.body.innerText.includes("Grace")`)
}

// withoutDashboard serves the server below a path, and refuses all that is the dashboard's.
func (s *server) withoutDashboard() *server {
	s.t.Helper()
	target, err := url.Parse(s.base)
	if err != nil {
		s.t.Fatal(err)
	}
	forward := http.StripPrefix("/crm", httputil.NewSingleHostReverseProxy(target))
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, "/crm/") || strings.HasPrefix(r.URL.Path, "/crm/_/") {
			s.t.Errorf("the browser requests %s", r.URL.Path)
			http.Error(w, "blocked", http.StatusForbidden)
			return
		}
		forward.ServeHTTP(w, r)
	}))
	s.t.Cleanup(proxy.Close)
	return &server{process: s.process, base: proxy.URL + "/crm", installation: s.installation}
}

// changingActions matches the names of buttons and links that change something.
var changingActions = regexp.MustCompile(`^(New|More for|Send|Redeliver|Recover|Rotate|Revoke|Replay|Try|Import|Export|Add|Members|First steps|Create|Check)\b`)

// A viewer sees everything of the own tenant, below a path and without the dashboard, but nothing to change it, and
// nothing of a stranger.
func TestBrowserPortalViewer(t *testing.T) {
	t.Parallel()
	i, tenant := newTenant(t)
	stranger := str(t, i.one("tenant", "create", "Globex"), "id")
	key := str(t, i.one("key", "create", tenant, "--name", "website"), "key")
	webhook := str(t, i.one("webhook", "create", tenant, "inspect:", "--name", "Look"), "id")
	foreign := str(t, i.one("webhook", "create", stranger, "inspect:", "--name", "Elsewhere"), "id")
	inbound := i.one("inbound", "create", tenant, "--name", "Form")
	s := i.serve()
	s.client("").expect(http.StatusOK, http.MethodPost, "/api/hooks/"+str(t, inbound, "token"), `{"email":"ada@example.com"}`)
	s.client(key).expect(http.StatusCreated, http.MethodPost, contactsPath, `{"name":"Ada Lovelace"}`)
	outside := s.withoutDashboard()
	b := outside.newBrowser()
	b.open(s.link(str(t, i.one("tenant", "create", "Empty"), "id"), "viewer"))
	b.arrived("Overview")
	b.portal("/keys", "API keys")
	b.sees("Only admins can create one.")
	b.open(s.link(tenant, "viewer"))
	b.click("Open the link")
	b.arrived("Overview")

	id := str(t, inbound, "id")
	for path, title := range map[string]string{
		"": "Overview", "/keys": "API keys", "/webhooks": "Webhooks", "/webhooks/" + webhook: "Look",
		"/webhooks/" + webhook + "/inspect": "Inspect", "/inbound": "Inbound webhooks", "/inbound/" + id + "/requests": "Requests to Form",
	} {
		b.portal(path, title)
		names := evaluate[[]string](b, `[...document.querySelectorAll(".page :is(button, a)")].map((el) => (el.ariaLabel || el.textContent).trim())`)
		if found := slices.DeleteFunc(names, func(name string) bool { return !changingActions.MatchString(name) }); len(found) > 0 {
			t.Errorf("a viewer sees on %s: %q", title, found)
		}
		if text := evaluate[string](b, `document.body.innerText`); strings.Contains(text, "Globex") || strings.Contains(text, "Tenant") || strings.Contains(text, "known key") {
			t.Errorf("a viewer sees on %s:\n%s", title, text)
		}
	}
	b.portal("/inbound/"+id+"/requests", "Requests to Form")
	b.click("Details")
	b.sees("ada@example.com")
	b.click("Close")
	b.closed()
	b.webhook(portalPages, webhook)
	b.sees("Ada Lovelace")
	b.click("Details")
	b.sees("204 accepted")
	b.look("portal-viewer-delivery")
	b.click("Close")
	b.closed()

	b.forgiven = "404"
	b.open(portalPages + "/webhooks/" + foreign)
	b.sees("This webhook was deleted")
	if text := evaluate[string](b, `document.body.innerText`); strings.Contains(text, "Elsewhere") {
		t.Errorf("a stranger's webhook is shown:\n%s", text)
	}
}
