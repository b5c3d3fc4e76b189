package hooks_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/subscriptions"

	"contactbase/internal/member"
	"contactbase/internal/testkit"
)

const authPath = "/api/collections/tenant_members"

func signIn(client *testkit.Client, email, password, address string) *testkit.Answer {
	return client.Do("POST", authPath+"/auth-with-password", `{"identity":"`+email+`","password":"`+password+`"}`, "X-Forwarded-For", address)
}

// Guessing a password is limited per account, from however many addresses. The owner is not locked out where they
// have signed in before, and unknown addresses are answered like known ones.
func TestGuessesAreLimitedPerAccount(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	settings := d.app.Settings()
	settings.RateLimits.Enabled = false // those per address
	settings.TrustedProxy.Headers = []string{"X-Forwarded-For"}
	if err := d.app.Save(settings); err != nil {
		t.Fatal(err)
	}
	const home, away = "192.0.2.1", "192.0.2.2"
	client := d.as(nil)
	if got := signIn(client, "admin@example.com", memberPassword, home); got.Status != 200 {
		t.Fatalf("signing in gives %d %s", got.Status, got.Body)
	}
	for _, email := range []string{"admin@example.com", "nobody@example.com"} {
		guesses := 0
		// a slow machine may be allowed another one each minute
		for got := (&testkit.Answer{Status: 400}); got.Status == 400; guesses++ {
			spelling := []string{email, strings.ToUpper(email)}[guesses%2]
			if got = signIn(client, spelling, "wrong", fmt.Sprintf("198.51.100.%d", guesses)); got.Status == 429 && got.Header.Get("Retry-After") == "" {
				t.Errorf("a refused guess at %s gives %v", email, got.Header)
			}
		}
		if guesses < 11 || guesses > 20 {
			t.Errorf("guess %d at %s is refused", guesses, email)
		}
		if got := signIn(client, email, memberPassword, away); got.Status != 429 {
			t.Errorf("the right guess at %s gives %d", email, got.Status)
		}
	}
	for range 12 { // successes do not count
		if got := signIn(client, "admin@example.com", memberPassword, home); got.Status != 200 {
			t.Errorf("the owner gets %d %s", got.Status, got.Body)
		}
	}
	if got := signIn(client, "viewer@example.com", memberPassword, away); got.Status != 200 {
		t.Errorf("another member gets %d", got.Status)
	}
}

// Nobody makes the installation send mail without end.
func TestRequestsForMailAreLimited(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	for _, what := range []string{"request-otp", "request-password-reset", "request-verification", "request-email-change"} {
		for i := range 6 {
			got := d.as(d.viewer).Do("POST", authPath+"/"+what, `{"email":"nobody@example.com"}`)
			if (got.Status == 429) != (i == 5) {
				t.Errorf("request %d of %s gives %d %s", i+1, what, got.Status, got.Body)
			}
		}
	}
}

// A portal link is its token and nothing more.
func TestLinksAreNoAccounts(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	collection := d.link.Collection()
	collection.OTP.Enabled = true
	if err := d.app.Save(collection); err != nil {
		t.Fatal(err)
	}
	link, guest := d.as(d.link), d.as(nil)
	if got := signIn(guest, d.link.Email(), memberPassword, ""); got.Status != 400 {
		t.Errorf("a link signs in: %d %s", got.Status, got.Body)
	}
	if got := d.expect(200, link, "POST", authPath+"/auth-refresh", ""); got.JSON()["token"] != link.Header.Get("Authorization") {
		t.Errorf("a refresh gives another token: %s", got.Body)
	}
	d.expect(403, link, "POST", authPath+"/request-email-change", `{"newEmail":"mine@example.com"}`)
	d.expect(204, guest, "POST", authPath+"/request-password-reset", `{"email":"`+d.link.Email()+`"}`)
	d.expect(204, guest, "POST", authPath+"/request-verification", `{"email":"`+d.link.Email()+`"}`)
	d.expect(200, guest, "POST", authPath+"/request-otp", `{"email":"`+d.link.Email()+`"}`)
	if n := testkit.Count(t, d.app, "SELECT count(*) FROM _otps", nil); n != 0 {
		t.Errorf("a link has %d one-time passwords", n)
	}
	const batch = `{"requests":[{"method":"POST","url":"/api/collections/api_keys/records","body":{}}]}`
	d.expect(403, link, "POST", "/api/batch", batch)
	for who, status := range map[*core.Record]int{d.link: 403, d.viewer: 204} {
		subscriber := subscriptions.NewDefaultClient()
		d.app.SubscriptionsBroker().Register(subscriber)
		d.expect(status, d.as(who), "POST", "/api/realtime", `{"clientId":"`+subscriber.Id()+`","subscriptions":["webhooks/*"]}`)
		d.app.SubscriptionsBroker().Unregister(subscriber.Id())
	}
	// as an admin's
	d.expect(200, link, "POST", "/api/collections/api_keys/records", `{"tenant":"`+d.acme.tenant+`","name":"x"}`)
}

// Who signs in with another service and is no member does not become one.
func TestNobodyJoinsWithOAuth2(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	var email atomic.Value
	email.Store("somebody@example.com")
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path == "/token" {
			fmt.Fprint(w, `{"access_token":"t","token_type":"bearer"}`)
			return
		}
		fmt.Fprintf(w, `{"sub":%q,"email":%q,"email_verified":true}`, email.Load(), email.Load())
	}))
	t.Cleanup(provider.Close)
	collection := d.viewer.Collection()
	collection.OAuth2.Enabled = true
	collection.OAuth2.Providers = []core.OAuth2ProviderConfig{{
		Name: "oidc", ClientId: "a", ClientSecret: "b", AuthURL: provider.URL + "/auth", TokenURL: provider.URL + "/token", UserInfoURL: provider.URL + "/user",
	}}
	if err := d.app.Save(collection); err != nil {
		t.Fatal(err)
	}
	before := testkit.Count(t, d.app, "SELECT count(*) FROM tenant_members", nil)
	body := func(create string) string {
		return `{"provider":"oidc","code":"c","redirectURL":"https://example.com","createData":` + create + `}`
	}
	for _, create := range []string{`{}`, `{"tenant":"` + d.acme.tenant + `","role":"admin"}`} {
		d.expect(400, d.as(nil), "POST", authPath+"/auth-with-oauth2", body(create))
	}
	if after := testkit.Count(t, d.app, "SELECT count(*) FROM tenant_members", nil); after != before {
		t.Errorf("there are %d members, before %d", after, before)
	}
	for address, status := range map[string]int{d.viewer.Email(): 200, d.link.Email(): 400} {
		email.Store(address)
		d.expect(status, d.as(nil), "POST", authPath+"/auth-with-oauth2", body(`{}`))
	}
	if got := d.reload(member.CollectionName, d.viewer.Id); got.GetString("role") != member.RoleViewer {
		t.Errorf("the viewer is %v", got)
	}
}
