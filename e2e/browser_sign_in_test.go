package e2e

import (
	"database/sql"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"contactbase/internal/testkit"
)

var (
	codeInMail = regexp.MustCompile(`<strong>(\d{8})</strong>`)
	linkInMail = regexp.MustCompile(`/portal/(#/reset/[\w.-]+)"`)
)

// A member signs in with a code from a mail: instead of the password, and after it.
func TestBrowserPortalCodes(t *testing.T) {
	t.Parallel()
	i, tenant := newTenant(t)
	s := i.serve()
	s.member(tenant, "ada@example.com", "admin")
	mails := testkit.ListenForMail(t)
	s.signIn().expect(http.StatusOK, http.MethodPatch, "/api/settings", fmt.Sprintf(
		`{"smtp":{"enabled":true,"host":"127.0.0.1","port":%d},"meta":{"senderAddress":"crm@example.com","appURL":%q}}`, mails.Port, s.base))
	s.signIn().expect(http.StatusOK, http.MethodPatch, "/api/collections/tenant_members", `{"otp":{"enabled":true},"mfa":{"enabled":true}}`)
	read := 0
	code := func() string { // in the next mail
		t.Helper()
		await(t, "a mail", func() bool { return len(mails.Mails()) > read })
		mail := mails.Mails()[read]
		read++
		found := codeInMail.FindStringSubmatch(mail.Text)
		if mail.To != "ada@example.com" || found == nil {
			t.Fatalf("the mail to %s is\n%s", mail.To, mail.Text)
		}
		return found[1]
	}
	b := s.newBrowser()
	b.forgiven = "the server responded with a status" // Chromium logs refusals
	b.open("/portal/")
	b.fill("Email", "ada@example.com")
	b.fill("Password", memberPassword)
	b.click("Sign in")
	b.sees("a code was sent to it")
	b.look("portal-code")
	right := code()
	b.fill("Code from the email", "00000000")
	b.click("Sign in")
	b.sees("The code is incorrect or has expired.")
	b.look("portal-code-refused")
	i.expireCodes()
	b.fill("Code from the email", right)
	b.click("Sign in")
	b.wait("the refusal", `document.querySelector("[role=alert] .alert") && !document.querySelector(".btn.loading")`)
	b.click("Send another code")
	b.sees("a code was sent to it")
	b.fill("Code from the email", code())
	b.click("Sign in")
	b.arrived("Overview")
	b.run(`document.querySelector('[title="Sign out"]').click()`)
	b.signedOut("You are signed out.")

	b.fill("Email", "ada@example.com")
	b.click("Send me a code instead")
	b.fill("Code from the email", code())
	b.click("Sign in")
	b.sees("One more step")
	b.look("portal-second-step")
	b.fill("Password", memberPassword)
	b.click("Sign in")
	b.arrived("Overview")
	b.run(`document.querySelector('[title="Sign out"]').click()`)
	b.signedOut("You are signed out.")

	b.fill("Email", "ada@example.com")
	b.click("Forgot your password?")
	await(t, "a mail", func() bool { return len(mails.Mails()) > read })
	found := linkInMail.FindStringSubmatch(strings.NewReplacer("=\r\n", "", "=3D", "=").Replace(mails.Mails()[read].Text))
	if found == nil {
		t.Fatalf("the mail is\n%s", mails.Mails()[read].Text)
	}
	b.open("/portal/" + found[1])
	b.fill("New password", "another long password")
	b.click("Set password")
	b.sees("Your password was set.")
	b.wait("the end of the form", `!document.querySelector("form")`)
	b.look("portal-reset-done")
}

// A member signs in with another service, and then with the password.
func TestBrowserPortalOAuth2(t *testing.T) {
	t.Parallel()
	i, tenant := newTenant(t)
	s := i.serve()
	id := s.member(tenant, "ada@example.com", "admin")
	// otherwise the first sign-in with another service invalidates the password
	s.signIn().expect(http.StatusOK, http.MethodPatch, "/api/collections/tenant_members/records/"+id, `{"verified":true}`)
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		query := r.URL.Query()
		w.Header().Set("Content-Type", "application/json")
		switch r.URL.Path {
		case "/auth":
			http.Redirect(w, r, query.Get("redirect_uri")+"?code=c&state="+url.QueryEscape(query.Get("state")), http.StatusFound)
		case "/token":
			fmt.Fprint(w, `{"access_token":"t","token_type":"bearer"}`)
		default:
			fmt.Fprint(w, `{"sub":"1","email":"ada@example.com","email_verified":true}`)
		}
	}))
	t.Cleanup(service.Close)
	s.signIn().expect(http.StatusOK, http.MethodPatch, "/api/collections/tenant_members", fmt.Sprintf(`{"mfa":{"enabled":true},"oauth2":{"enabled":true,"providers":[
		{"name":"oidc","displayName":"Acme ID","clientId":"a","clientSecret":"b","authURL":"%[1]s/auth","tokenURL":"%[1]s/token","userInfoURL":"%[1]s/user"}]}}`, service.URL))
	b := s.newBrowser()
	b.forgiven = "the server responded with a status" // Chromium logs the first answer
	b.open("/portal/")
	b.click("Sign in with Acme ID")
	b.sees("One more step")
	b.look("portal-oauth2")
	b.fill("Email", "ada@example.com")
	b.fill("Password", memberPassword)
	b.click("Sign in")
	b.arrived("Overview")
}

// expireCodes makes the codes that were sent old.
func (i *installation) expireCodes() {
	i.t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(i.data, "data.db")+"?_pragma=busy_timeout(60000)")
	if err != nil {
		i.t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(i.t.Context(), "UPDATE _otps SET created = '2020-01-01 00:00:00.000Z'"); err != nil {
		i.t.Fatal(err)
	}
}
