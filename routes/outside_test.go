package routes_test

import (
	"fmt"
	"strings"
	"testing"

	"contactbase/internal/address"
)

// URLs in headers are whole: those of the Application URL that an admin has entered, else of the request. Replayed
// responses have them, too.
func TestAddressesInHeaders(t *testing.T) {
	t.Parallel()
	client, f := newAPI(t)
	if err := address.Store(f.App, "http://127.0.0.1:18090"); err != nil {
		t.Fatal(err)
	}
	forwarded := []string{"X-Forwarded-Proto", "https", "X-Forwarded-Host", "crm.example.com"}
	for i, c := range []struct {
		entered string
		trusted string
		header  []string
		want    string
	}{
		{"https://example.com/crm/", "", nil, "https://example.com/crm"},
		{"https://example.com/a/b", "", forwarded, "https://example.com/a/b"},
		{"https://example.com", "X-Forwarded-For", forwarded, "https://example.com"},
		{"https://example.com/", "", nil, "https://example.com"},
		{"http://127.0.0.1:21080", "", nil, "http://127.0.0.1:21080"}, // not the one that was stored
		{"http://localhost:8090", "", nil, f.base},
		{"http://127.0.0.1:18090", "", nil, f.base},
		{"http://127.0.0.1:18090", "", forwarded, f.base},
		{"http://127.0.0.1:18090", "X-Real-IP", forwarded, "https://crm.example.com"},
		{"http://127.0.0.1:18090", "X-Real-IP", []string{"X-Forwarded-Proto", "http, HTTPS"}, strings.Replace(f.base, "http:", "https:", 1)},
		{"http://127.0.0.1:18090", "X-Real-IP", []string{"X-Forwarded-Host", "evil.example, [2001:db8::1]:8443"}, "http://[2001:db8::1]:8443"},
		{"http://127.0.0.1:18090", "X-Real-IP", []string{"X-Forwarded-Proto", "javascript", "X-Forwarded-Host", "a@b/c"}, f.base},
		{"http://127.0.0.1:18090", "X-Real-IP", []string{"X-Forwarded-Proto", "https,", "X-Forwarded-Host", "a.example>;"}, f.base},
	} {
		settings := f.App.Settings()
		settings.Meta.AppURL, settings.TrustedProxy.Headers = c.entered, strings.Fields(c.trusted)
		if err := f.App.Save(settings); err != nil {
			t.Fatal(err)
		}
		created := client.Do("POST", contactsPath, `{"name":"Ada"}`, append(c.header, "Idempotency-Key", "1")...)
		put := client.Do("PUT", fmt.Sprint(contactsPath, "/by-external-id/", i), `{"name":"Ada"}`, c.header...)
		for what, location := range map[string]string{"POST": created.Header.Get("Location"), "PUT": put.Header.Get("Location")} {
			if !strings.HasPrefix(location, c.want+contactsPath+"/") {
				t.Errorf("%+v: the Location of %s is %q", c, what, location)
			}
		}
		if link := client.Do("GET", contactsPath+"?limit=1", "", c.header...).Header.Get("Link"); !strings.HasPrefix(link, "<"+c.want+contactsPath+"?") {
			t.Errorf("%+v: the Link is %q", c, link)
		}
	}
}
