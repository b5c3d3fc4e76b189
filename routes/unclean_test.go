package routes_test

import (
	"bytes"
	"strings"
	"testing"
)

// Below our prefixes, a path that is not clean gets the envelope, no redirect, and has no effect. No response repeats a token.
func TestUncleanPaths(t *testing.T) {
	t.Parallel()
	client, f := newAPI(t)
	hook := newSender(t, f, "full", nil)
	token := strings.TrimPrefix(hook.path, "/api/hooks/")
	for _, path := range []string{
		"//api/ext/v1/contacts", "/api//ext/v1/contacts", "/api/ext//v1/contacts", "/api/ext/v1//contacts", "/api/ext/v1/contacts//", "/api/ext/v1/./contacts",
		"/api/ext/v1/x/../contacts", "/x/../api/ext/v1/contacts", "/api/x/../ext/v1/contacts", "/api/ext/../ext/v1/contacts",
		"/api/ext/v1/../../../x", "/%2e/api/ext/v1/contacts", "/x/%2e%2e/api/ext/v1/contacts", "/%2Fapi/ext/v1/contacts", "//api/ext", "//api/ext/v2/x", "/api/ext/v2/x",
		"//api/hooks/" + token, "/api/hooks//" + token, "/api/hooks/./" + token, "/api/x/../hooks/" + token, "/api/hooks/" + token + "/../../x",
		"//api/integrations/overview", "//mcp", "/mcp//",
	} {
		for _, method := range []string{"GET", "POST", "DELETE", "HEAD", "OPTIONS", "TRACE"} {
			body := ""
			if method == "POST" {
				body = `{"name":"Ada"}`
			}
			got := client.Do(method, path, body, "X-Request-Id", "mine", "Origin", "https://example.com", "Access-Control-Request-Method", "POST")
			if got.Status != 404 || method != "HEAD" && got.Code() != "not_found" || got.Header.Get("X-Request-Id") != "mine" ||
				got.Header.Get("Content-Type") != "application/json" || got.Header.Get("Location") != "" || got.Header.Get("Access-Control-Allow-Origin") != "" || bytes.Contains(got.Body, []byte(token)) {
				t.Errorf("%s %s gives %d %v %s", method, path, got.Status, got.Header, got.Body)
			}
		}
	}
	for path, status := range map[string]int{"/api/ext/v1/contacts/%2e%2e": 404, "/api/ext/v1/contacts/by-external-id/..%2F..": 201, "/docs/../docs": 307} {
		method := map[int]string{404: "GET", 201: "PUT", 307: "GET"}[status]
		if got := client.Do(method, path, map[string]string{"PUT": `{"name":"Ada"}`}[method]); got.Status != status {
			t.Errorf("%s %s gives %d %s", method, path, got.Status, got.Body)
		}
	}
	if n, err := f.App.CountRecords("contacts"); err != nil || n != 1 {
		t.Errorf("%d contacts are there, %v", n, err)
	}
}
