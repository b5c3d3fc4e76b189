package dashboard_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/pocketbase/pocketbase/mails"

	"contactbase/internal/testkit"
)

func TestMain(m *testing.M) {
	defer testkit.Cleanup()
	m.Run()
}

// below returns the URL of a proxy that serves an app below /crm, without the dashboard.
func below(t *testing.T, base string) string {
	t.Helper()
	target, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	forward := http.StripPrefix("/crm", httputil.NewSingleHostReverseProxy(target))
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/crm/_/") {
			http.Error(w, "blocked", http.StatusForbidden)
			return
		}
		forward.ServeHTTP(w, r)
	}))
	t.Cleanup(proxy.Close)
	return proxy.URL + "/crm"
}

func get(t *testing.T, target string, header ...string) (*http.Response, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, target, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	if len(header) > 0 {
		request.Header.Set(header[0], header[1])
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response, string(body)
}

// linked finds what a page or a stylesheet loads.
var linked = regexp.MustCompile(`(?:src|href)="([^"]+)"|url\("?([^")]+)"?\)`)

// The portal and all that it loads is served below a path, and without the dashboard, which a proxy may block.
func TestPortal(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	if name := app.Settings().Meta.AppName; name != "Contactbase" {
		t.Errorf("an installation without a name is called %q", name)
	}
	app.Settings().Meta.AppName, app.Settings().Meta.AccentColor = `Ac"me</title> CRM`, "#123456"
	base := below(t, testkit.Serve(t, app))
	page, html := get(t, base+"/portal")
	if page.StatusCode != http.StatusOK || page.Request.URL.Path != "/crm/portal/" {
		t.Fatalf("/portal leads to %s, which returns %d", page.Request.URL, page.StatusCode)
	}
	if !strings.Contains(html, "<title>Ac&#34;me&lt;/title&gt; CRM</title>") || !strings.Contains(html, `"accentColor":"#123456"`) {
		t.Errorf("the page has another name or colour:\n%s", html)
	}
	seen := map[string]bool{}
	var visit func(from *url.URL, body string)
	visit = func(from *url.URL, body string) {
		if strings.Contains(body, "/_/") {
			t.Errorf("%s mentions the dashboard", from)
		}
		for _, found := range linked.FindAllStringSubmatch(body, -1) {
			address, err := from.Parse(found[1] + found[2])
			if err != nil {
				t.Fatal(err)
			}
			if address.Scheme != "http" || address.Fragment != "" || seen[address.Path] || strings.HasSuffix(address.Path, "/logo.svg") {
				continue // data, or of the program's public files
			}
			seen[address.Path] = true
			answer, content := get(t, address.String())
			if answer.StatusCode != http.StatusOK || !strings.HasPrefix(address.Path, "/crm/portal/") {
				t.Errorf("%s returns %d", address, answer.StatusCode)
			}
			checkHeaders(t, answer)
			if strings.HasSuffix(address.Path, ".css") {
				visit(address, content)
			} else if strings.HasSuffix(address.Path, ".js") && strings.Contains(content, "/_/") {
				t.Errorf("%s mentions the dashboard", address)
			}
		}
	}
	checkHeaders(t, page)
	visit(page.Request.URL, html)
	if len(seen) < 8 {
		t.Errorf("the page loads only %v", seen)
	}
	if answer, _ := get(t, base+"/portal/secrets.js"); answer.StatusCode != http.StatusNotFound {
		t.Errorf("an unknown file returns %d", answer.StatusCode)
	}
}

// checkHeaders checks that browsers run only the portal's own scripts, keep nothing unasked, and are
// spared what they have.
func checkHeaders(t *testing.T, answer *http.Response) {
	t.Helper()
	target := answer.Request.URL
	policy := answer.Header.Get("Content-Security-Policy")
	for _, directive := range []string{"default-src 'none'", "script-src 'self'", "frame-ancestors 'none'"} {
		if !strings.Contains(policy, directive+";") && !strings.HasSuffix(policy, directive) {
			t.Errorf("%s has the policy %q, without %s", target, policy, directive)
		}
	}
	if strings.Contains(policy, "unsafe") {
		t.Errorf("%s has the policy %q", target, policy)
	}
	if control := answer.Header.Get("Cache-Control"); control != "no-cache" {
		t.Errorf("%s has Cache-Control %q", target, control)
	}
	again, body := get(t, target.String(), "If-None-Match", answer.Header.Get("ETag"))
	if again.StatusCode != http.StatusNotModified || body != "" {
		t.Errorf("%s with its ETag returns %d and %d bytes", target, again.StatusCode, len(body))
	}
}

// The mails to members lead to pages that the portal has.
func TestMailsLeadToThePortal(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	member := testkit.Record(t, app, "tenant_members", map[string]any{
		"tenant": testkit.Tenant(t, app, "Acme"), "role": "admin", "email": "ada@example.com", "password": "correct horse battery",
	})
	_, script := get(t, testkit.Serve(t, app)+"/portal/portal.js")
	for page, send := range map[string]func() error{
		"reset":  func() error { return mails.SendRecordPasswordReset(app, member) },
		"verify": func() error { return mails.SendRecordVerification(app, member) },
		"email":  func() error { return mails.SendRecordChangeEmail(app, member, "grace@example.com") },
	} {
		if err := send(); err != nil {
			t.Fatal(err)
		}
		if text := app.TestMailer.LastMessage().HTML; !strings.Contains(text, "/portal/#/"+page+"/ey") || strings.Contains(text, "/_/") {
			t.Errorf("the mail leads elsewhere than to %s:\n%s", page, text)
		}
		if !strings.Contains(script, `"#/`+page+`/{token}"`) {
			t.Errorf("the portal has no page %s", page)
		}
	}
}
