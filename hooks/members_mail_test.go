package hooks_test

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/mails"

	"contactbase/internal/member"
	"contactbase/internal/testkit"
)

// mailbox is a door whose mails a server receives.
type mailbox struct {
	*door
	server *testkit.MailServer
	read   int // mails
}

func newMailbox(t *testing.T, set func(*core.Collection)) *mailbox {
	t.Helper()
	app := testkit.NewMailingApp(t)
	m := &mailbox{door: newDoorOf(t, app), server: testkit.NewMailServer(t, app)}
	settings := app.Settings()
	settings.Meta.AppURL, settings.Meta.SenderAddress = "https://crm.example.com", "crm@example.com"
	settings.RateLimits.Enabled = false
	if err := app.Save(settings); err != nil {
		t.Fatal(err)
	}
	collection := m.viewer.Collection()
	set(collection)
	if err := app.Save(collection); err != nil {
		t.Fatal(err)
	}
	return m
}

var unfolded = strings.NewReplacer("=\r\n", "", "=3D", "=")

// find waits for the next mail, which must be to that address, and returns what a pattern matches in it.
func (m *mailbox) find(to, pattern string) string {
	m.t.Helper()
	testkit.Eventually(m.t, "a mail to "+to, func() bool { return len(m.server.Mails()) > m.read })
	last := m.server.Mails()[m.read]
	m.read++
	found := regexp.MustCompile(pattern).FindStringSubmatch(unfolded.Replace(last.Text))
	if last.To != to || found == nil {
		m.t.Fatalf("the mail to %s has no %s:\n%s", last.To, pattern, last.Text)
	}
	return found[1]
}

// token returns the token in the address of a page of the portal in the last mail.
func (m *mailbox) token(to, page string) string {
	m.t.Helper()
	return m.find(to, `https://crm\.example\.com/portal/#/`+page+`/([\w.-]+)"`)
}

func (m *mailbox) post(status int, client *testkit.Client, action, format string, values ...any) *testkit.Answer {
	m.t.Helper()
	return m.expect(status, client, "POST", authPath+"/"+action, fmt.Sprintf(format, values...))
}

// sendCode requests a code by mail, and returns its id and the code.
func (m *mailbox) sendCode(to string) (id, code string) {
	m.t.Helper()
	id, _ = m.post(200, m.as(nil), "request-otp", `{"email":%q}`, to).JSON()["otpId"].(string)
	return id, m.find(to, `<strong>(\d{8})</strong>`)
}

// A code from a mail signs in once.
func TestCodesByMail(t *testing.T) {
	t.Parallel()
	m := newMailbox(t, func(c *core.Collection) { c.OTP.Enabled = true })
	guest, address := m.as(nil), m.viewer.Email()
	id, code := m.sendCode(address)
	m.post(400, guest, "auth-with-otp", `{"otpId":%q,"password":"00000000"}`, id)
	m.post(400, guest, "auth-with-otp", `{"otpId":"aaaaaaaaaaaaaaa","password":%q}`, code)
	signedIn := m.post(200, guest, "auth-with-otp", `{"otpId":%q,"password":%q}`, id, code)
	m.post(400, guest, "auth-with-otp", `{"otpId":%q,"password":%q}`, id, code)
	guest.Header.Set("Authorization", signedIn.JSON()["token"].(string))
	m.expect(200, guest, "GET", "/api/integrations/overview", "")
	if got := signIn(m.as(nil), address, memberPassword, ""); got.Status != 400 {
		t.Errorf("the password of the inviter still signs in a member who has proven the address: %d", got.Status)
	}
}

// Without a mail server, a sign-in from a new place looks for no sendmail, which would fail.
func TestNoAlertWithoutServer(t *testing.T) {
	t.Parallel()
	app := testkit.NewMailingApp(t)
	app.OnMailerRecordAuthAlertSend().BindFunc(func(*core.MailerRecordEvent) error { return errors.New("looked for sendmail") })
	testkit.SuperuserToken(t, app)
	root, err := app.FindFirstRecordByFilter(core.CollectionNameSuperusers, "email = 'root@example.com'")
	if err != nil {
		t.Fatal(err)
	}
	if err := mails.SendRecordAuthAlert(app, root, "a new place"); err != nil {
		t.Error(err)
	}
	app.Settings().SMTP.Enabled = true
	if err := mails.SendRecordAuthAlert(app, root, "a new place"); err == nil {
		t.Error("with a mail server, no alert is sent")
	}
}

// With multi-factor authentication, neither the password nor the code alone signs in.
func TestPasswordAndCode(t *testing.T) {
	t.Parallel()
	m := newMailbox(t, func(c *core.Collection) { c.OTP.Enabled, c.MFA.Enabled = true, true })
	guest, address := m.as(nil), m.viewer.Email()
	id, code := m.sendCode(address)
	if got := m.post(401, guest, "auth-with-otp", `{"otpId":%q,"password":%q}`, id, code); got.JSON()["token"] != nil {
		t.Errorf("the code alone gives %s", got.Body)
	}
	first := m.post(401, guest, "auth-with-password", `{"identity":%q,"password":%q}`, address, memberPassword).JSON()
	mfa, _ := first["mfaId"].(string)
	if mfa == "" || first["token"] != nil {
		t.Fatalf("the password alone gives %v", first)
	}
	id, code = m.sendCode(address)
	m.post(400, guest, "auth-with-otp", `{"otpId":%q,"password":%q,"mfaId":"aaaaaaaaaaaaaaa"}`, id, code)
	id, code = m.sendCode(address)
	m.post(200, guest, "auth-with-otp", `{"otpId":%q,"password":%q,"mfaId":%q}`, id, code, mfa)
}

// A mail leads to the portal, where a new password ends all sessions, and the accounts of other services that
// somebody has linked.
func TestPasswordResetByMail(t *testing.T) {
	t.Parallel()
	m := newMailbox(t, func(*core.Collection) {})
	guest, session, address := m.as(nil), m.as(m.viewer), m.viewer.Email()
	linked := func(of *core.Record) {
		testkit.Record(t, m.app, core.CollectionNameExternalAuths, map[string]any{
			"collectionRef": of.Collection().Id, "recordRef": of.Id, "provider": "google", "providerId": "of " + of.Id,
		})
	}
	links := func() int { return testkit.Count(t, m.app, "SELECT count(*) FROM _externalAuths", nil) }
	linked(m.admin)
	linked(m.viewer)
	m.post(204, guest, "request-password-reset", `{"email":"nobody@example.com"}`)
	m.post(204, guest, "request-password-reset", `{"email":%q}`, address)
	token := m.token(address, "reset")
	const reset = `{"token":%q,"password":"another password","passwordConfirm":"another password"}`
	m.post(204, guest, "confirm-password-reset", reset, token)
	if !m.reload(member.CollectionName, m.viewer.Id).GetBool("accepted") {
		t.Error("the member has chosen a password, and can still be invited")
	}
	m.post(400, guest, "confirm-password-reset", reset, token)
	if got := []int{signIn(guest, address, memberPassword, "").Status, signIn(guest, address, "another password", "").Status}; !slices.Equal(got, []int{400, 200}) {
		t.Errorf("the old and the new password give %v", got)
	}
	m.expect(401, session, "GET", "/api/integrations/overview", "")
	if n := links(); n != 1 {
		t.Errorf("%d accounts of other services are linked", n)
	}
	superuser := testkit.NewClient(t, m.base, "")
	superuser.Header.Set("Authorization", testkit.SuperuserToken(t, m.app))
	m.expect(200, superuser, "PATCH", membersPath+"/"+m.admin.Id, `{"name":"Ada"}`)
	if n := links(); n != 1 {
		t.Errorf("after a new name, %d accounts of other services are linked", n)
	}
	m.expect(200, superuser, "PATCH", membersPath+"/"+m.admin.Id, `{"password":"by the superuser","passwordConfirm":"by the superuser"}`)
	if n := links(); n != 0 {
		t.Errorf("after a superuser's new password, %d accounts of other services are linked", n)
	}
}

// Addresses are verified and changed by mail. A new one ends all sessions.
func TestAddressesByMail(t *testing.T) {
	t.Parallel()
	m := newMailbox(t, func(*core.Collection) {})
	guest, session, address := m.as(nil), m.as(m.viewer), m.viewer.Email()
	m.post(204, guest, "request-verification", `{"email":%q}`, address)
	m.post(204, guest, "confirm-verification", `{"token":%q}`, m.token(address, "verify"))
	if !m.reload(member.CollectionName, m.viewer.Id).Verified() {
		t.Error("the address is not verified")
	}
	const other = "grace@example.com"
	// a taken address gets the same response
	m.post(204, session, "request-email-change", `{"newEmail":%q}`, strings.ToUpper(m.admin.Email()))
	m.post(400, session, "request-email-change", `{"newEmail":"not an address"}`)
	m.post(204, session, "request-email-change", `{"newEmail":%q}`, other)
	token := m.token(other, "email")
	m.post(400, guest, "confirm-email-change", `{"token":%q,"password":"wrong"}`, token)
	m.post(204, guest, "confirm-email-change", `{"token":%q,"password":%q}`, token, memberPassword)
	if got := []int{signIn(guest, address, memberPassword, "").Status, signIn(guest, other, memberPassword, "").Status}; !slices.Equal(got, []int{400, 200}) {
		t.Errorf("the old and the new address give %v", got)
	}
	m.expect(401, session, "GET", "/api/integrations/overview", "")
	m.server.Set("hang") // the response comes before the mail is sent
	m.post(204, m.as(m.admin), "request-email-change", `{"newEmail":"slow@example.com"}`)
}
